import { createKeyResolver } from "../authn/key-resolver.ts";
import { type Resource, resources } from "../api/resources.ts";
import type { OwnedAccessKeyConfig } from "../domain/access-key/owned-access-key.ts";
import type { KeyRotationConfig } from "../domain/endpoint-token/key-rotation.ts";
import type { EndpointTokenConfig } from "../domain/endpoint-token/token-state.ts";
import type { Prefixes } from "../domain/names.ts";
import type { NamespaceOptions } from "../domain/sync/sync-target.ts";
import type { Client } from "../kube/client.ts";
import type { EventRecorder } from "../kube/event-recorder.ts";
import type { ListWatch } from "../kube/list-watch.ts";
import { runLoop } from "../kube/loop.ts";
import { WorkQueue } from "../kube/queue.ts";
import { Recovery } from "../kube/recovery.ts";
import type { Yielder } from "../kube/yielder.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { Deletions } from "./deletions.ts";
import { Enqueuer } from "./enqueuer.ts";
import { FinalizedObjects } from "./finalized-objects.ts";
import { createInformers, type Informers } from "./informers.ts";
import { createLeaderFailures, type LeaderFailures } from "./leader-failures.ts";
import { ObjectCounts } from "./object-counts.ts";
import { createQueues, type Queues } from "./queues.ts";
import { Refreshes } from "./refreshes.ts";
import { Revocations } from "./revocations.ts";
import { revokedTokensKey } from "./revoked-tokens.ts";
import type { ReconcileDeps } from "./reconcile-deps.ts";
import { SourceData } from "./source-data.ts";
import { TokenQuota, type TokenQuotaConfig } from "./token-quota.ts";

/** Options of the controller; durations in seconds. */
export interface ControllerOptions
  extends
    OwnedAccessKeyConfig,
    EndpointTokenConfig,
    KeyRotationConfig,
    TokenQuotaConfig,
    NamespaceOptions {
  readonly namespace: string;
  readonly prefixes: Prefixes;
  /** Maximum number of concurrent reconciles of a kind. */
  readonly workers: number;
  /** Maximum number of concurrent reconciles of targets. */
  readonly writers: number;
  /**
   * How long grants are kept after a deletion, and the object after its grants, in milliseconds.
   */
  readonly grantSettleTime: number;
}

/** Dependencies of the controller; both clients are fenced by the Lease. */
export interface ControllerDeps {
  readonly client: Client;
  /** Only used to write copies. */
  readonly copyClient: Client;
  readonly listWatch: ListWatch;
  /** Shared by all loops that would block the event loop. */
  readonly yielder: Yielder;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Shared with the leader election; default: a new one. */
  readonly recovery?: Recovery;
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
export function createController(options: ControllerOptions, deps: ControllerDeps): Controller {
  const { recovery = new Recovery() } = deps;
  const { metrics } = deps;
  const counts = new ObjectCounts(deps.clock);
  /** Set while this process is the leader. */
  let enqueuer: Enqueuer | undefined;
  const informers = createInformers(
    { ...deps, recovery, onInterrupted: metrics.watchInterrupted },
    {
      ...options,
      onChange(changed) {
        counts.record(changed);
        if (enqueuer !== undefined) changed.enqueue(enqueuer);
      },
    },
  );
  metrics.watches(informers.watches);
  metrics.objects(() => counts.readings());
  // Replicas that do not lead have the series, too.
  for (const { controller, workers } of informers.reconcilers) {
    metrics.queue(controller);
    metrics.controller(controller, workers(options));
  }
  return {
    informers,
    follow: (signal) => informers.run(signal),
    async lead(signal) {
      await informers.current(signal);
      if (signal.aborted) return;
      const leader = createLeader(deps, informers);
      const { queues } = leader;
      enqueuer = leader.enqueuer;
      const stopRetrying = recovery.onRecovered(() =>
        Object.values(queues).forEach((queue) => queue.retryNow()),
      );
      try {
        await informers.enqueueAll(enqueuer);
        await runLoops({ options, deps, informers, leader, signal });
      } finally {
        stopRetrying();
        enqueuer = undefined;
      }
    },
  };
}

/** The state of a leader besides the stores; a new leader starts without any. */
interface Leader {
  readonly queues: Queues;
  readonly deletions: Deletions;
  readonly failures: LeaderFailures;
  readonly revocations: Revocations;
  readonly enqueuer: Enqueuer;
}

function createLeader(
  { clock, random, metrics, log, yielder }: ControllerDeps,
  { stores }: Informers,
): Leader {
  const queues = createQueues(
    (controller) => new WorkQueue({ clock, random, metrics: metrics.queue(controller) }),
  );
  const deletions = new Deletions(clock);
  const failures = createLeaderFailures({ queues, clock, log, enqueuer: () => enqueuer });
  const { copyFailures } = failures;
  const onDue = (): void => queues.revokedTokens.add(revokedTokensKey, "high");
  const revocations = new Revocations({ clock, stores, onDue });
  const enqueuer = new Enqueuer({
    ...{ queues, stores, deletions, copyFailures, revocations, clock, yielder },
  });
  return { queues, deletions, failures, revocations, enqueuer };
}

interface Leading {
  readonly options: ControllerOptions;
  readonly deps: ControllerDeps;
  readonly informers: Informers;
  readonly leader: Leader;
  readonly signal: AbortSignal;
}

/** Runs one loop for each reconciler until the signal aborts. */
async function runLoops(leading: Leading): Promise<void> {
  const { options, deps, informers, leader, signal } = leading;
  const { clock, yielder, log, metrics } = deps;
  const reconcileDeps = createReconcileDeps(leading);
  // Existing tokens are counted before the first token is minted.
  await yielder.forEach(informers.stores.tokens.values(), (token) =>
    reconcileDeps.tokenQuota.note(token),
  );
  for (const { entries } of informers.stores.revokedTokens.values())
    reconcileDeps.tokenQuota.noteRevoked(entries);
  await Promise.all(
    informers.reconcilers.map(({ controller, queue, workers, reconcile }) =>
      runLoop({
        name: controller,
        queue: leader.queues[queue],
        reconcile: (key) => reconcile(key, reconcileDeps),
        workers: workers(options),
        signal,
        clock,
        yielder,
        log,
        metrics: metrics.controller(controller, workers(options)),
      }),
    ),
  );
}

function createReconcileDeps({ options, deps, informers, leader }: Leading): ReconcileDeps {
  const { client, copyClient, clock, yielder, log, events } = deps;
  const { stores, digestOf, refresh, watches } = informers;
  const held = new FinalizedObjects();
  return {
    ...options,
    config: options,
    client,
    copyClient,
    clock,
    yielder,
    log,
    stores,
    watches,
    deletions: leader.deletions,
    revocations: leader.revocations,
    revocationPace: { nextAt: -Infinity },
    ...leader.failures,
    keyResolver: createKeyResolver({
      keys: stores.keys,
      policies: stores.requesterPolicies,
      config: options,
    }),
    held,
    tokenQuota: new TokenQuota(options),
    sourceData: new SourceData({ client, digestOf }),
    refreshes: new Refreshes({ queues: leader.queues }),
    waitingSince: new Map(),
    recordWrite(resource: Resource, answer: unknown) {
      if (resource === resources.ownedAccessKeys || resource === resources.endpointTokens)
        held.note(answer);
      informers.recordWrite(resource, answer);
    },
    recordDelete: informers.recordDelete,
    refresh,
    recordEvent: events.record.bind(events),
  };
}
