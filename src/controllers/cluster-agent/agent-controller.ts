import { agentFieldManager, group } from "../../api/names.ts";
import type { ClusterReport } from "../../domain/outbox/cluster-report.ts";
import { outboxNamespace } from "../../domain/outbox/outbox-names.ts";
import type { TargetWrites } from "../../domain/sync/target-writes.ts";
import { BodyLimiter } from "../../kube/client/body-limiter.ts";
import { type Client, createClient, type SizeOf } from "../../kube/client/client.ts";
import type { Transport } from "../../kube/client/transport.ts";
import { EventRecorder } from "../../kube/event-recorder.ts";
import type { InformerDeps } from "../../kube/informer/informer-options.ts";
import { createListWatch } from "../../kube/informer/list-watch.ts";
import { Recovery } from "../../kube/informer/recovery.ts";
import { interruptionCounter } from "../../kube/informer/watch-metrics.ts";
import type { LeaderElection } from "../../kube/leader-election.ts";
import type { ProcessContext } from "../../runtime/run-process.ts";
import type { Logger } from "../../runtime/log.ts";
import type { Yielder } from "../../runtime/yielder.ts";
import { type Controller, createController, type Program } from "../controller.ts";
import { Enqueuer } from "../enqueuer.ts";
import type { Watched } from "../kinds/watched-kind.ts";
import { openFenced, type ProcessTransports, sizeOfIn } from "../process-transports.ts";
import { agentKinds } from "./agent-kinds.ts";
import { newSyncMemory } from "../sync-state.ts";
import type { SyncOptions, SyncWorld } from "../sync-world.ts";
import type { AgentOptions } from "./agent-options.ts";
import { translatedClient } from "./translated-client.ts";
import { outboxListWatch, swappedListWatch } from "./translated-list-watch.ts";

/** The connections of an agent to both clusters. */
export interface AgentConnections {
  readonly local: ProcessTransports;
  readonly central: ProcessTransports;
  /** Requests to the connected cluster that its Lease does not fence. */
  readonly ownTransport: Transport;
  /** The same to the central cluster. */
  readonly centralTransport: Transport;
  /** For warnings about the central cluster: an outage of one cluster hides none of the other. */
  readonly centralLog: Logger;
  readonly recovery: Recovery;
  readonly yielder: Yielder;
}

/** What an agent's controller asks when it decides. */
interface AgentQuestions {
  readonly writes: () => TargetWrites;
  readonly problem: () => ClusterReport["problem"];
}

interface AgentControllerDeps extends ProcessContext, AgentConnections, AgentQuestions {
  readonly election: LeaderElection;
}

/** Connections for reports: there are 16 of them. */
const reportConnections = 4;

/** Builds the controller of an agent: that of copies at home, behind what translates. */
export function createAgentController(
  options: AgentOptions,
  deps: AgentControllerDeps,
): Controller {
  const { clock, random, log, metrics, yielder, recovery, election } = deps;
  const { clusterName: cluster, identity, writers } = options;
  const bodies = new BodyLimiter(options.maximumBodyBytesInFlight);
  const fencing = { election, metrics };
  const copies = openFenced({ pool: "copies", connections: writers, bodies }, deps.local, fencing);
  const reports = openFenced(
    { pool: "reports", connections: reportConnections, bodies },
    deps.central,
    fencing,
  );
  const sizeOf: SizeOf = (resource, ref) => sizeOfIn(controller.informers.stores)(resource, ref);
  const centralClient = createClient(reports, agentFieldManager, sizeOf);
  const copyClient = translatedClient({
    local: createClient(copies, agentFieldManager, sizeOf),
    central: centralClient,
    cluster,
  });
  const events = new EventRecorder({
    client: createClient(deps.ownTransport, agentFieldManager),
    clock,
    log,
    identity,
    reporter: `${group}/latchkey`,
  });
  const central = centralInformerDeps(cluster, deps);
  const watched = agentKinds({
    central,
    writes: deps.writes,
    problem: deps.problem,
    outbox: outboxNamespace(cluster),
  });
  const controller: Controller = createController(agentProgram(options, watched), {
    clientOf: (queue): Client => (queue === "clusterReport" ? centralClient : copyClient),
    logOf: (queue) => (queue === "clusterReport" ? deps.centralLog : log),
    listWatch: swappedListWatch(createListWatch(copies, clock), cluster),
    remoteRecoveries: central.recovery === undefined ? [] : [central.recovery],
    clock,
    random,
    log,
    metrics,
    yielder,
    recovery,
    events,
  });
  return controller;
}

/** What an agent reconciles: copies, and the reports about them. */
export function agentProgram(options: SyncOptions, watched: Watched): Program<SyncWorld> {
  return {
    options,
    watched,
    newMemory: newSyncMemory,
    worldOf: (leader) => ({
      ...leader,
      options,
      enqueuer: new Enqueuer(leader, leader.yielder),
    }),
  };
}

/** What the informer of the outbox needs: nothing of it depends on the connected cluster. */
function centralInformerDeps(
  cluster: string,
  { clock, random, centralLog: log, metrics, yielder, centralTransport }: AgentControllerDeps,
): InformerDeps {
  const onExcess = (isExcessive: boolean): void => {
    if (isExcessive)
      log.warn({ cluster }, "the outbox has more than 20,000 entries; the others are not read");
  };
  const listWatch = outboxListWatch(createListWatch(centralTransport, clock), {
    cluster,
    onExcess,
  });
  return {
    clock,
    random,
    yielder,
    listWatch,
    log,
    recovery: new Recovery(),
    onInterrupted: interruptionCounter(metrics),
  };
}
