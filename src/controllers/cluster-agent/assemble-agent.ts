import { agentFieldManager, ownObjects } from "../../api/names.ts";
import { FollowedPolicy } from "../../policies/followed-policy.ts";
import { connectedPolicies } from "../../domain/gateway/connected-policy.ts";
import { outboxNamespace } from "../../domain/outbox/outbox-names.ts";
import { createClient } from "../../kube/client/client.ts";
import type { Credentials } from "../../kube/credentials/credentials.ts";
import { Recovery } from "../../kube/informer/recovery.ts";
import type { ElectionEnd, LeaderElection } from "../../kube/leader-election.ts";
import type { ProcessConnectionDeps } from "../../kube/process-connection.ts";
import type { ProcessPart } from "../../runtime/run-process.ts";
import { Yielder } from "../../runtime/yielder.ts";
import type { Controller } from "../controller.ts";
import { newElection, ProcessTransports } from "../process-transports.ts";
import { type AgentConnections, createAgentController } from "./agent-controller.ts";
import type { AgentOptions } from "./agent-options.ts";
import { AgentWork } from "./agent-work.ts";
import { CentralLease } from "./central-lease.ts";
import { CentralSilence } from "./central-silence.ts";

/** Dependencies of an agent; `credentials` are those of the connected cluster. */
interface AgentDeps extends ProcessConnectionDeps, Pick<AgentConnections, "centralLog"> {
  readonly central: Credentials;
}

/** An agent with its connections to both clusters. */
interface AgentAssembly extends ProcessPart {
  /**
   * Runs the informers, waits for the Lease and leads, until the signal aborts or the Lease is
   * lost.
   */
  lead(signal: AbortSignal): Promise<ElectionEnd>;
}

/** Builds an agent without its HTTP server; nothing runs yet. */
export function assembleAgent(options: AgentOptions, deps: AgentDeps): AgentAssembly {
  const { clock, metrics, log } = deps;
  const connections = connect(deps);
  const heardAt = () => controller.informers.remote[0]?.watchState.openedAt;
  const silence = new CentralSilence(clock, heardAt);
  const { namespace, identity, lease: times } = options;
  const election = newElection(
    {
      namespace,
      identity,
      times,
      notes: silence.notes,
      name: ownObjects.agentLease,
      fieldManager: agentFieldManager,
    },
    connections.local,
    { ...deps, recovery: connections.recovery },
  );
  const controller: Controller = createAgentController(options, {
    ...deps,
    ...connections,
    election,
    writes: () => work.writes(),
    problem: () => work.problem(),
  });
  const policies = followedPolicies(options, connections, deps);
  const lease = centralLease(options, connections, deps);
  let arePoliciesChecked = false;
  const work: AgentWork = new AgentWork({
    clock,
    log,
    metrics,
    facts() {
      arePoliciesChecked ||= policies.every(({ isKnown }) => isKnown);
      return {
        identity: lease.identity,
        arePoliciesChecked,
        silentMs: silence.ms,
        isOutboxListed: controller.informers.remote.every(
          ({ watchState: { isSynced } }) => isSynced,
        ),
        policyProblem: policies.map((policy) => policy.problem()).find((why) => why !== undefined),
        deleteAfterMs: options.deleteAfterDisconnect,
      };
    },
    reconcile: (signal) => controller.lead(signal),
  });
  return agentOf({ connections, election, controller, policies, lease, work });
}

interface AgentParts {
  readonly connections: AgentConnections;
  readonly election: LeaderElection;
  readonly controller: Controller;
  readonly policies: readonly FollowedPolicy[];
  readonly lease: CentralLease;
  readonly work: AgentWork;
}

function agentOf({
  connections,
  election,
  controller,
  policies,
  lease,
  work,
}: AgentParts): AgentAssembly {
  let followed = Promise.resolve();
  return {
    problems: () => [...controller.informers.staleReasons(), ...work.problems()],
    warnings: () => work.warnings(),
    async run(signal) {
      await Promise.all([
        work.run(signal),
        lease.run(signal, () => election.remainingMs() > 0),
        ...policies.map((policy) => policy.run(signal)),
      ]);
    },
    async lead(signal) {
      const following = new AbortController();
      followed = controller.follow(following.signal);
      const onLeading = async (leading: AbortSignal): Promise<void> => {
        void lease.beat(true);
        await work.lead(leading);
      };
      const end = await election.run({ signal, onLeading });
      following.abort();
      return end;
    },
    async close() {
      await Promise.all([connections.local.close(), connections.central.close()]);
      await followed;
    },
  };
}

function connect(deps: AgentDeps): AgentConnections {
  const yielder = new Yielder(deps.clock);
  const local = new ProcessTransports(deps, yielder);
  const central = new ProcessTransports({ ...deps, credentials: deps.central }, yielder);
  // Not fenced by the Lease: every replica reads the outbox, and records Events.
  const [ownTransport, centralTransport] = [local.open(3), central.open(2)];
  const { centralLog } = deps;
  const recovery = new Recovery();
  return { local, central, ownTransport, centralTransport, centralLog, yielder, recovery };
}

/** The policies that guard labels in the connected cluster, and what the agent may write. */
function followedPolicies(
  { namespace }: AgentOptions,
  { ownTransport }: AgentConnections,
  { clock, log }: AgentDeps,
): readonly FollowedPolicy[] {
  const client = createClient(ownTransport, agentFieldManager);
  const { projectAssignment, ownSecrets } = connectedPolicies;
  return [projectAssignment, { ...ownSecrets, namespace }].map(
    (policy) => new FollowedPolicy(policy, { client, clock, log, onAnswer: () => {} }),
  );
}

function centralLease(
  { clusterName }: AgentOptions,
  { ownTransport, centralTransport }: AgentConnections,
  { clock, log, centralLog }: AgentDeps,
): CentralLease {
  return new CentralLease({
    clock,
    log,
    centralLog,
    local: createClient(ownTransport, agentFieldManager),
    central: createClient(centralTransport, agentFieldManager),
    lease: { namespace: outboxNamespace(clusterName), name: ownObjects.agentLease },
  });
}
