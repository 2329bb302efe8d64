import { foreignCredentials, loadCredentials } from "../kube/credentials/load-credentials.ts";
import type { FollowedCredentials } from "../kube/credentials/followed-credentials.ts";
import { aboutServer, saidOnce } from "../runtime/log.ts";
import { readEnvironment, uniqueIdentity } from "../runtime/environment.ts";
import {
  type AssembledProcess,
  type ProcessPart,
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
  const { clock, log } = context;
  const { centralKubeconfig = "" } = config;
  const identity = config.identity ?? uniqueIdentity();
  const env = readEnvironment();
  const credentials = await loadCredentials({ ...config, env }, clock, log);
  const central = await foreignCredentials({ kubeconfig: centralKubeconfig, env }, clock, log);
  const agent = assembleAgent(agentOptions(config, identity), {
    ...context,
    credentials,
    central,
    log: credentials.quiet(log),
    centralLog: aboutServer(central.quiet(saidOnce(log)), new URL(central.server).origin),
  });
  return {
    parts: [credentials.part, centralPart(central), agent],
    started: {
      identity,
      cluster: config.clusterName,
      server: credentials.server,
      central: central.server,
    },
    lead: (signal) => agent.lead(signal),
  };
}

/**
 * What the central cluster does is said, and no more: copies are repaired without it, and a restart
 * of the agent changes nothing about a server of another administrator.
 */
function centralPart({ part }: FollowedCredentials): ProcessPart {
  return { warnings: () => [...(part.problems?.() ?? []), ...(part.warnings?.() ?? [])] };
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
