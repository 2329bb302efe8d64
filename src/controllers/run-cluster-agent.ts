import type { Clock } from "../runtime/clock.ts";
import { cachedAuthorization, type Credentials } from "../kube/credentials/credentials.ts";
import { foreignCredentials, loadCredentials } from "../kube/credentials/load-credentials.ts";
import { readEnvironment, uniqueIdentity } from "../runtime/environment.ts";
import {
  type AssembledProcess,
  runProcess,
  type ServerContext,
  type ServerProcess,
} from "../runtime/run-process.ts";
import type { AgentOptions } from "./cluster-agent/agent-options.ts";
import { assembleAgent } from "./cluster-agent/assemble-agent.ts";
import type { ClusterAgentConfig } from "./cluster-agent-options.ts";

/** Runs `latchkey cluster-agent` until SIGTERM, or exits with 1 if the Lease is lost. */
export function runClusterAgent(config: ClusterAgentConfig, process: ServerProcess): Promise<void> {
  return runProcess(
    { name: "cluster agent", config, assemble: (context) => assembleProcess(config, context) },
    process,
  );
}

async function assembleProcess(
  config: ClusterAgentConfig,
  context: ServerContext,
): Promise<AssembledProcess> {
  const { clock } = context;
  const identity = config.identity ?? uniqueIdentity();
  const credentials = await loadCredentials({ ...config, env: readEnvironment() }, clock);
  const central = await centralCredentials(config, clock);
  const agent = assembleAgent(agentOptions(config, identity), { ...context, credentials, central });
  return {
    parts: [agent],
    started: {
      identity,
      cluster: config.clusterName,
      apiServer: credentials.server,
      central: central.server,
    },
    lead: (signal) => agent.lead(signal),
  };
}

/**
 * The credentials of the central cluster. Its kubeconfig is read again every minute and after a
 * 401, because an administrator replaces the access key in it; an address or a certificate in it
 * counts from the next start.
 */
async function centralCredentials(
  { centralKubeconfig = "" }: ClusterAgentConfig,
  clock: Clock,
): Promise<Credentials> {
  const load = () => foreignCredentials(centralKubeconfig, clock);
  const first = await load();
  const read = async () => ({ header: await (await load()).authorization() });
  return { ...first, ...cachedAuthorization(read, clock) };
}

function agentOptions(config: ClusterAgentConfig, identity: string): AgentOptions {
  const { leaseDuration, renewDeadline, retryPeriod } = config;
  return {
    ...config,
    identity,
    writers: config.writeConcurrency,
    maximumBodyBytesInFlight: config.maxBodyBytesInFlight,
    lease: { leaseDuration, renewDeadline, retryPeriod },
  };
}
