import type { Key } from "../api/object.ts";
import type { Client } from "../kube/client/client.ts";
import type { EventRecorder } from "../kube/event-recorder.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import {
  exposeWatches,
  interruptionCounter,
  type WatchReading,
} from "../kube/informer/watch-metrics.ts";
import { runLoop } from "../kube/queue/loop.ts";
import { type Priority, WorkQueue } from "../kube/queue/work-queue.ts";
import { Recovery } from "../kube/informer/recovery.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { controllerMetrics, queueMetrics } from "../runtime/work-metrics.ts";
import type { Yielder } from "../runtime/yielder.ts";
import { createInformers, type Informers } from "./informers.ts";
import { urgencyOf } from "./kinds/copy.ts";
import type { Watched } from "./kinds/watched-kind.ts";
import { ObjectCounts } from "./object-counts.ts";
import { controllers, createQueues, type QueueName, type Queues } from "./queues.ts";
import type { Request } from "./question.ts";
import { type Outcome, reconcile } from "./reconcile.ts";
import { type AnswerOther, send } from "./send.ts";
import { SourceData } from "./source-data.ts";
import type { OwnWrites } from "./sync-state.ts";
import type { SyncWorld } from "./sync-world.ts";
import { WrittenCopies } from "./written-copies.ts";

/** Dependencies of the controller; its clients are fenced by the Lease. */
interface ControllerDeps extends InformerDeps {
  /** The client and the log of each queue; the default of the latter is `log`. */
  readonly clientOf: (queue: QueueName) => Client;
  readonly logOf?: (queue: QueueName) => InformerDeps["log"];
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  /** The recoveries of other API servers, after which failed reconciles are tried again, too. */
  readonly remoteRecoveries?: readonly Recovery[];
}

/** What the world of a new leader is made of. */
export interface NewLeader<W extends SyncWorld>
  extends OwnWrites, Pick<SyncWorld, "queues" | "clock" | "log"> {
  readonly stores: W["stores"];
  readonly memory: W["memory"];
  readonly yielder: Yielder;
  readonly watches: () => readonly WatchReading[];
}

/** What a process reconciles, and in which world: the controller itself knows no kind. */
export interface Program<W extends SyncWorld> {
  readonly options: W["options"];
  readonly watched: Watched<W>;
  readonly newMemory: () => W["memory"];
  /** The world of a new leader. */
  readonly worldOf: (leader: NewLeader<W>) => W;
  /** What a leader does before its first reconcile. */
  readonly begin?: (world: W) => Promise<void>;
  /** Answers what only decisions of this program ask. */
  readonly answersIn?: (world: W) => AnswerOther;
  /** Shows what its stores contain, in every replica. */
  readonly expose?: (stores: W["stores"], metrics: Metrics) => void;
}

/** The controller: its informers run in every process, its reconcile loops only in the leader. */
export interface Controller<W extends SyncWorld = SyncWorld> {
  readonly informers: Informers<W>;
  /** Runs the informers until the signal aborts. */
  follow(signal: AbortSignal): Promise<void>;
  /**
   * Reconciles until the signal aborts; resolves when the reconciles in flight have ended.
   */
  lead(signal: AbortSignal): Promise<void>;
}

/** Builds the controller; nothing runs yet. */
export function createController<W extends SyncWorld>(
  program: Program<W>,
  deps: ControllerDeps,
): Controller<W> {
  const { recovery = new Recovery(), remoteRecoveries = [], metrics } = deps;
  const counts = new ObjectCounts(deps.clock);
  /** Set while this process is the leader. */
  let enqueuer: W["enqueuer"] | undefined;
  const informers = createInformers(
    { ...deps, recovery, onInterrupted: interruptionCounter(metrics) },
    {
      ...program.options,
      watched: program.watched,
      onChange(changed) {
        counts.record(changed);
        if (enqueuer === undefined) return;
        changed.enqueue(enqueuer);
        for (const { fields, message } of changed.says?.() ?? []) deps.log.info(fields, message);
      },
    },
  );
  exposeInformers(informers, program.options, metrics);
  program.expose?.(informers.stores, metrics);
  counts.expose(metrics);
  return {
    informers,
    follow: (signal) => informers.run(signal),
    async lead(signal) {
      await informers.current(signal);
      if (signal.aborted) return;
      const leader = createLeader(program, deps, informers);
      enqueuer = leader.world.enqueuer;
      const retryAll = (): void =>
        Object.values(leader.queues).forEach((queue) => queue.retryNow());
      const retrying = [recovery, ...remoteRecoveries].map((each) => each.onRecovered(retryAll));
      try {
        await informers.enqueueAll(enqueuer);
        await runLoops(leader, deps, { program, informers, signal });
      } finally {
        for (const stop of retrying) stop();
        enqueuer = undefined;
      }
    },
  };
}

/** Shows the watches, and the series of all queues: replicas that do not lead have them, too. */
function exposeInformers<W extends SyncWorld>(
  { watches, reconcilers }: Informers<W>,
  options: W["options"],
  metrics: Metrics,
): void {
  exposeWatches(watches, metrics);
  for (const { queue, workers } of reconcilers) {
    queueMetrics(controllers[queue], metrics);
    controllerMetrics(controllers[queue], workers(options), metrics);
  }
}

/** The queues of a leader, and what its decisions read and change. */
interface Leader<W extends SyncWorld> {
  readonly queues: Queues<WorkQueue>;
  readonly world: W;
}

function createLeader<W extends SyncWorld>(
  { newMemory, worldOf }: Program<W>,
  { clock, random, metrics, log, yielder }: ControllerDeps,
  { stores, reconcilers, watches, has, recordWrite, recordDelete, recordFollowed }: Informers<W>,
): Leader<W> {
  const reconciled = new Set(reconcilers.map(({ queue }) => queue));
  const memory = newMemory();
  const urgencyOfCopy = (key: Key): Priority => urgencyOf(key, memory.repairs);
  const queues = createQueues((name) => {
    const counted = reconciled.has(name) && { metrics: queueMetrics(controllers[name], metrics) };
    const urgencyAtTime = name === "copy" ? urgencyOfCopy : undefined;
    return new WorkQueue({ clock, random, urgencyAtTime, ...counted });
  });
  const known = { stores, memory, queues, clock, yielder, log, watches };
  return { queues, world: worldOf({ ...known, has, recordWrite, recordDelete, recordFollowed }) };
}

interface Led<W extends SyncWorld> {
  readonly program: Program<W>;
  readonly informers: Informers<W>;
  readonly signal: AbortSignal;
}

/** Runs one loop for each reconciler until the signal aborts. */
async function runLoops<W extends SyncWorld>(
  { queues, world }: Leader<W>,
  { clientOf, clock, yielder, log, logOf = () => log, metrics, events }: ControllerDeps,
  { program, informers, signal }: Led<W>,
): Promise<void> {
  await program.begin?.(world);
  const deps = {
    state: world,
    sourceData: new SourceData({
      client: clientOf("sharedSecret"),
      digestOf: informers.digestOf,
      namespace: world.options.namespace,
    }),
    forEach: yielder.forEach.bind(yielder),
    recordEvent: events.record.bind(events),
    refresh: informers.refresh,
    answerOther: program.answersIn?.(world),
  };
  const copies = new WrittenCopies({ clock, log });
  await Promise.all(
    informers.reconcilers.map((reconciler) => {
      const { queue } = reconciler;
      const workers = reconciler.workers(world.options);
      const sending = { ...deps, client: clientOf(queue) };
      const sendNoted = async (request: Request): Promise<Outcome> => {
        const outcome = await send(request, sending);
        if (queue === "copy" && "response" in outcome) copies.note(request);
        return outcome;
      };
      return runLoop({
        name: controllers[queue],
        queue: queues[queue],
        reconcile: (key) => reconcile(key, { reconciler, world }, sendNoted),
        workers,
        signal,
        clock,
        yielder,
        log: logOf(queue),
        metrics: controllerMetrics(controllers[queue], workers, metrics),
      });
    }),
  );
}
