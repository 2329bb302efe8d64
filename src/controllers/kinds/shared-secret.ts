import { keyOf, refOf, type Key } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { heldUntil, unconfirmedRemoval } from "../../domain/outbox/cluster-wait.ts";
import { accessFailure, temporaryFailure } from "../../domain/plan/failed-request.ts";
import {
  type FinalizationPhase,
  hasFinalizer,
  planStuckFinalization,
} from "../../domain/plan/finalization.ts";
import { nothingToDo, type Plan } from "../../domain/plan/plan.ts";
import { revokeSteps } from "../../domain/shared-secret/access.ts";
import {
  granteesOf,
  isProgressDue,
  type ObservedSharedSecret,
  planReport,
  planSharedSecret,
  planTermination,
} from "../../domain/shared-secret/shared-secret.ts";
import type { Source } from "../../domain/sync/copy.ts";
import { keepsSource } from "../../domain/sync/leftover.ts";
import { dataCopyRef, followedKey } from "../../domain/sync/data-copy.ts";
import { copiesOf, ownerOf, secretAt } from "../../domain/sync/observed-target.ts";
import type { SyncSummary } from "../../domain/sync/sync-summary.ts";
import { syncIndexes } from "../../domain/sync/sync-objects.ts";
import { isBeingDeleted } from "../../domain/sync/obstacles.ts";
import { observedSource } from "../../tokens/observed-data.ts";
import { observeDerived } from "./derived-objects.ts";
import type { Change } from "../../kube/informer/store.ts";
import type { CentralEnqueuer } from "../central-enqueuer.ts";
import { heartbeatAgeMs } from "../cluster-agents.ts";
import { reportedClusters } from "../cluster-status.ts";
import { blockedRemovals, holdingClusters } from "../observe-outbox.ts";
import { countLeftovers } from "../count-targets.ts";
import { finalize } from "../finalization.ts";
import { failureAt } from "../failures.ts";
import { stillFollowing } from "../followed-sources.ts";
import { type Answers, answerTo, type Ask, type ReconcileDecision, isAsk } from "../question.ts";
import { enqueueOutboxes, outboxSourceIndexers } from "../outbox-keys.ts";
import type { Reconciler } from "../reconciler.ts";
import { forgetRefresh } from "../refreshes.ts";
import type { World } from "../world.ts";
import { sourceKind, startRefresh } from "./source.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** SharedSecrets in the central cluster, whose access is granted and whose status is written. */
export function sharedSecretKind(context: KindContext): WatchedKind<Source, World> {
  const kind = sourceKind(context);
  return {
    ...kind,
    parse(raw) {
      const source = observedSource(raw, context.digestOf);
      const stored = context.stores().sharedSecrets.get(keyOf(source.secret.metadata));
      return stillFollowing(source, stored);
    },
    indexers: { ...kind.indexers, ...outboxSourceIndexers },
    enqueue(change, enqueuer) {
      enqueuer.forgetDeleted("sharedSecret", change.before?.secret, change.after?.secret);
      kind.enqueue(change, enqueuer);
      enqueueOutboxes(change, enqueuer);
      enqueueFollowed(change, enqueuer);
    },
    async enqueueAll(enqueuer) {
      await kind.enqueueAll?.(enqueuer);
      const { stores, queues } = enqueuer;
      for (const key of stores.sharedSecrets.namesIn(syncIndexes.dataFrom))
        queues.source.add(key, "low");
    },
    countedAs: ({ secret }) => secret,
    reconciler: sharedSecretReconciler,
  };
}

/**
 * Enqueues the Secret that a SharedSecret follows or followed, which is nobody's target meanwhile,
 * and the copy for its readers.
 */
function enqueueFollowed({ before, after }: Change<Source>, enqueuer: CentralEnqueuer): void {
  const { queues } = enqueuer;
  for (const state of [before, after])
    if (state?.followed !== undefined)
      queues.copy.add(keyOf(dataCopyRef(state.secret.metadata)), "normal");
  const [former, current] = [before, after].map((state) => state && followedKey(state));
  if (current !== undefined && after?.followed?.state === "unread")
    queues.source.add(current, "high");
  // Its pace is forgotten with its last follower.
  if (former !== undefined && former !== current) queues.source.add(former, "low");
  for (const key of former === current ? [] : [former, current]) {
    if (key === undefined) continue;
    queues.copy.add(key, "normal");
    enqueuer.statusAt(refOf(key));
  }
}

const resource = resources.sharedSecrets;

/**
 * Reconciles a SharedSecret: its access, its finalization and its status. Its copies are reconciled
 * by their own queue.
 */
export const sharedSecretReconciler: Reconciler<World> = {
  queue: "sharedSecret",
  workers: ({ workers }) => workers,
  decide,
  judge(failed, key, { stores }) {
    const metadata = stores.sharedSecrets.get(key)?.secret.metadata;
    const isStaying = metadata !== undefined && metadata.deletionTimestamp === undefined;
    return isStaying && hasFinalizer(metadata) ? accessFailure(failed) : temporaryFailure(failed);
  },
  report({ key, world, answers, reported: failure }) {
    const source = world.stores.sharedSecrets.get(key);
    if (source === undefined) return undefined;
    const now = world.clock.now();
    if (isBeingDeleted(source))
      return planStuckFinalization(resource, source.secret, { now, failure });
    const observed = observe(source, world, answers);
    return isAsk(observed) ? undefined : planReport({ ...observed, failure }, now);
  },
};

function decide(key: Key, world: World, answers: Answers): ReconcileDecision {
  const source = world.stores.sharedSecrets.get(key);
  if (source === undefined) return decideLeftover(key, world, answers);
  return isBeingDeleted(source)
    ? decideTermination(source, world, answers)
    : decideNormal(source, world, answers);
}

/** Deletes the orphaned objects in the namespace of a SharedSecret that does not exist. */
function decideLeftover(key: Key, world: World, answers: Answers): ReconcileDecision {
  forgetRefresh(key, world);
  const access = observeDerived(refOf(key), undefined, world.stores, answers);
  if (isAsk(access)) return access;
  return { ...nothingToDo, steps: revokeSteps({ ...access, roles: [], bindings: [] }) };
}

function decideNormal(source: Source, world: World, answers: Answers): ReconcileDecision {
  const observed = observe(source, world, answers);
  if (isAsk(observed)) return observed;
  const now = world.clock.now();
  const waitingSince = noteWaiting(source, { summary: observed.summary, now }, world);
  const { refreshed, startAt } = startRefresh(source, now, world);
  const plan = planSharedSecret(
    {
      ...observed,
      ...(waitingSince === undefined ? {} : { waitingSince }),
      ...(refreshed === undefined ? {} : { refreshed }),
    },
    now,
  );
  const at = Math.min(...[startAt, observed.changesAt].filter((instant) => instant !== undefined));
  const isEarlier =
    plan.result.kind === "done" || (plan.result.kind === "requeue-at" && at < plan.result.at);
  return isEarlier && at < Infinity ? { ...plan, result: { kind: "requeue-at", at } } : plan;
}

/**
 * Decides about a SharedSecret that is being deleted. In a terminating namespace it skips the
 * settle time: no object can be created there under the same name.
 */
function decideTermination(source: Source, world: World, answers: Answers): ReconcileDecision {
  const { stores, options } = world;
  const { metadata } = source.secret;
  const access = observeDerived(metadata, source, world.stores, answers);
  if (isAsk(access)) return access;
  const seen = {
    source,
    access,
    prefixes: options.prefixes,
    summary: countLeftovers(source, world),
    failure: failureAt("sharedSecret", keyOf(metadata), world),
  };
  const holding = holdingClusters(source, stores);
  const agents = holding.map((cluster) => ({ heartbeatAgeMs: heartbeatAgeMs(cluster, world) }));
  const deleting = {
    resource,
    ref: metadata,
    grantsStand: access.bindings.length + access.roles.length > 0,
    grantees: granteesOf(seen),
    settleMs: isNamespaceTerminating(source, world) ? 0 : options.grantSettleTime,
    heldUntil: (seenAt: number) => heldUntil(seenAt, agents),
    hasCopies: copiesOf(source, stores).some(keepsSource),
    plan(phase: FinalizationPhase, now: number): Plan {
      const plan = planTermination(seen, { phase, now });
      const isLeaving = phase.kind === "release" && hasFinalizer(metadata);
      const events = isLeaving
        ? unconfirmedRemoval(metadata, { holding, blocked: blockedRemovals(source, world) })
        : [];
      return events.length === 0 ? plan : { ...plan, steps: [events, ...plan.steps] };
    },
  };
  return finalize(deleting, world, answers);
}

/** The observed state, and when the status may say more of connected clusters. */
type Observed = ObservedSharedSecret & { readonly changesAt?: number };

function observe(source: Source, world: World, answers: Answers): Observed | Ask {
  const count = { do: "count-targets", source } as const;
  const summary = answerTo(count, answers)?.summary;
  if (summary === undefined) return { questions: [count] };
  const { metadata } = source.secret;
  const access = observeDerived(metadata, source, world.stores, answers);
  if (isAsk(access)) return access;
  return {
    source,
    access,
    prefixes: world.options.prefixes,
    namespaceIsTerminating: isNamespaceTerminating(source, world),
    summary,
    ...reportedClusters(source, world),
    failure: failureAt("sharedSecret", keyOf(metadata), world),
    dataCopy: dataCopyAt(source, world),
  };
}

/** Whose Secret is at the name of the copy for the readers of a source; undefined if none is. */
function dataCopyAt(source: Source, { stores }: World): ObservedSharedSecret["dataCopy"] {
  if (source.followed === undefined) return undefined;
  const { metadata } = source.secret;
  const copy = stores.copies.get(keyOf(dataCopyRef(metadata)));
  const existing = copy ?? secretAt(keyOf(dataCopyRef(metadata)), stores);
  if (existing === undefined) return undefined;
  const owner = copy && ownerOf(copy, stores);
  return owner?.secret.metadata.uid === metadata.uid ? "own" : "foreign";
}

/**
 * Since when the status has waited for its targets; the wait starts again when this reconcile
 * reports progress.
 */
function noteWaiting(
  { secret }: Source,
  { summary, now }: { readonly summary: SyncSummary; readonly now: number },
  { memory: { waitingSince: waits } }: World,
): number | undefined {
  const { uid } = secret.metadata;
  const since = summary.pending === 0 ? undefined : (waits.get(uid) ?? now);
  if (since === undefined) waits.delete(uid);
  else waits.set(uid, isProgressDue(since, now) ? now : since);
  return since;
}

function isNamespaceTerminating({ secret }: Source, { stores }: World): boolean {
  const { namespace = "" } = secret.metadata;
  return stores.namespaces.get(namespace)?.deletionTimestamp !== undefined;
}
