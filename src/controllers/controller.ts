import { resources } from "../api/resources.ts";
import { createKeyResolver } from "../authn/key-resolver.ts";
import type { Client } from "../kube/client/client.ts";
import type { EventRecorder } from "../kube/event-recorder.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import { exposeWatches, interruptionCounter } from "../kube/informer/watch-metrics.ts";
import { runLoop } from "../kube/queue/loop.ts";
import { WorkQueue } from "../kube/queue/work-queue.ts";
import { Recovery } from "../kube/informer/recovery.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { controllerMetrics, queueMetrics } from "../runtime/work-metrics.ts";
import { Enqueuer } from "./enqueuer.ts";
import type { ControllerOptions, World } from "./world.ts";
import { createInformers, type Informers } from "./informers.ts";
import { newMemory } from "./memory.ts";
import { ObjectCounts } from "./object-counts.ts";
import { centralKinds } from "./kinds/kinds.ts";
import { controllers, createQueues, type QueueName, type Queues } from "./queues.ts";
import { exposeOutboxes } from "./outbox-metrics.ts";
import { reconcile } from "./reconcile.ts";
import { send } from "./send.ts";
import { SourceData } from "./source-data.ts";
import { countMintedToken, countRevokedTokens } from "./token-quota.ts";

/** Dependencies of the controller; its clients are fenced by the Lease. */
interface ControllerDeps extends InformerDeps {
  /** The client of each queue. */
  readonly clientOf: (queue: QueueName) => Client;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  /** The recoveries of other API servers, after which failed reconciles are tried again, too. */
  readonly remoteRecoveries?: readonly Recovery[];
}

/** The controller: its informers run in every process, its reconcile loops only in the leader. */
export interface Controller {
  readonly informers: Informers;
  /** Runs the informers until the signal aborts. */
  follow(signal: AbortSignal): Promise<void>;
  /**
   * Reconciles until the signal aborts; resolves when the reconciles in flight have ended.
   */
  lead(signal: AbortSignal): Promise<void>;
}

/** Builds the controller; nothing runs yet. */
export function createController(
  options: ControllerOptions,
  deps: ControllerDeps,
  watched = centralKinds,
): Controller {
  const { recovery = new Recovery(), remoteRecoveries = [] } = deps;
  const { metrics } = deps;
  const counts = new ObjectCounts(deps.clock);
  /** Set while this process is the leader. */
  let enqueuer: Enqueuer | undefined;
  const informers = createInformers(
    { ...deps, recovery, onInterrupted: interruptionCounter(metrics) },
    {
      ...options,
      watched,
      onChange(changed) {
        counts.record(changed);
        if (enqueuer !== undefined) changed.enqueue(enqueuer);
      },
    },
  );
  exposeInformers(informers, options, metrics);
  exposeOutboxes(informers.stores, deps.clock, metrics);
  counts.expose(metrics);
  return {
    informers,
    follow: (signal) => informers.run(signal),
    async lead(signal) {
      await informers.current(signal);
      if (signal.aborted) return;
      const leader = createLeader(options, deps, informers);
      enqueuer = leader.world.enqueuer;
      const retryAll = (): void =>
        Object.values(leader.queues).forEach((queue) => queue.retryNow());
      const retrying = [recovery, ...remoteRecoveries].map((each) => each.onRecovered(retryAll));
      try {
        await informers.enqueueAll(enqueuer);
        await runLoops(leader, deps, { informers, signal });
      } finally {
        for (const stop of retrying) stop();
        enqueuer = undefined;
      }
    },
  };
}

/** Shows the watches, and the series of all queues: replicas that do not lead have them, too. */
function exposeInformers(
  { watches, reconcilers }: Informers,
  options: ControllerOptions,
  metrics: Metrics,
): void {
  exposeWatches(watches, metrics);
  for (const { queue, workers } of reconcilers) {
    queueMetrics(controllers[queue], metrics);
    controllerMetrics(controllers[queue], workers(options), metrics);
  }
}

/** The queues of a leader, and what its decisions read and change. */
interface Leader {
  readonly queues: Queues<WorkQueue>;
  readonly world: World;
}

function createLeader(
  options: ControllerOptions,
  { clock, random, metrics, log, yielder }: ControllerDeps,
  informers: Informers,
): Leader {
  const { stores, has, recordWrite, recordDelete } = informers;
  const reconciled = new Set(informers.reconcilers.map(({ queue }) => queue));
  const queues = createQueues((name) => {
    const counted = reconciled.has(name) && { metrics: queueMetrics(controllers[name], metrics) };
    return new WorkQueue({ clock, random, ...counted });
  });
  const memory = newMemory(options);
  const keyResolver = createKeyResolver({
    ...{ keys: stores.keys, policies: stores.requesterPolicies, config: options },
  });
  const keysAsOf = (): number => {
    const { plural } = resources.ownedAccessKeys;
    const watch = informers.watches().find(({ resource }) => resource === plural);
    return (watch?.openedAt ?? 0) * 1000;
  };
  const state = { queues, stores, memory, clock };
  const enqueuer = new Enqueuer(state, yielder);
  return {
    queues,
    world: {
      ...{ ...state, options, enqueuer, keyResolver, log, keysAsOf },
      ...{ has, recordWrite, recordDelete },
    },
  };
}

/** Runs one loop for each reconciler until the signal aborts. */
async function runLoops(
  { queues, world }: Leader,
  { clientOf, clock, yielder, log, metrics, events }: ControllerDeps,
  { informers, signal }: { readonly informers: Informers; readonly signal: AbortSignal },
): Promise<void> {
  const { options, stores } = world;
  // Existing tokens are counted before the first token is minted.
  await yielder.forEach(stores.tokens.values(), (token) => countMintedToken(token, world));
  for (const { entries } of stores.revokedTokens.values()) countRevokedTokens(entries, world);
  const deps = {
    world,
    sourceData: new SourceData({ client: clientOf("sharedSecret"), digestOf: informers.digestOf }),
    forEach: yielder.forEach.bind(yielder),
    recordEvent: events.record.bind(events),
    refresh: informers.refresh,
  };
  await Promise.all(
    informers.reconcilers.map((reconciler) => {
      const { queue } = reconciler;
      const workers = reconciler.workers(options);
      const sending = { ...deps, client: clientOf(queue) };
      return runLoop({
        name: controllers[queue],
        queue: queues[queue],
        reconcile: (key) =>
          reconcile(key, { reconciler, world }, (request) => send(request, sending)),
        ...{ workers, signal, clock, yielder, log },
        metrics: controllerMetrics(controllers[queue], workers, metrics),
      });
    }),
  );
}
