import { keyOf, type ObjectRef, refOf, type Key } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { heldUntil, unconfirmedRemoval } from "../../domain/outbox/cluster-wait.ts";
import { accessFailure, temporaryFailure } from "../../domain/plan/failed-request.ts";
import { type FinalizationPhase, planStuckFinalization } from "../../domain/plan/finalization.ts";
import { hasFinalizer } from "../../domain/plan/finalizer.ts";
import { isSame } from "../../domain/plan/merge-patch.ts";
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
import {
  candidatesFor,
  copyKeysOf,
  requestsFor,
  targetsOf,
  copiesOf,
} from "../../domain/sync/observed-target.ts";
import { syncIndexers } from "../../domain/sync/sync-objects.ts";
import type { SyncSummary } from "../../domain/sync/sync-summary.ts";
import { isBeingDeleted, isFinalizing } from "../../domain/sync/obstacles.ts";
import type { Change } from "../../kube/informer/store.ts";
import { observedSource } from "../../tokens/observed-data.ts";
import { observeDerived } from "./derived-objects.ts";
import { heartbeatAgeMs } from "../cluster-agents.ts";
import { holdingClusters, reportedClusters } from "../cluster-status.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { finalize } from "../finalization.ts";
import { failureAt } from "../failures.ts";
import type { LeaderState } from "../memory.ts";
import { type Answers, answerTo, type Ask, type ReconcileDecision, isAsk } from "../question.ts";
import { enqueueOutboxes, outboxSourceIndexers } from "../outbox-keys.ts";
import type { Reconciler } from "../reconciler.ts";
import { forgetRefresh, observeRefresh, type RefreshProgress } from "../refreshes.ts";
import type { World } from "../world.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** SharedSecrets, with a digest of the data of their copies and without large data. */
export function sharedSecretKind({ digestOf }: KindContext): WatchedKind<Source> {
  return {
    listOptions: { resource: resources.sharedSecrets },
    parse: (raw) => observedSource(raw, digestOf),
    indexers: { ...syncIndexers.sharedSecrets, ...outboxSourceIndexers },
    enqueue,
    enqueueAll: ({ queues, stores, yielder }) =>
      yielder.forEach(stores.sharedSecrets.values(), (source) => {
        queues.sharedSecret.add(keyOf(source.secret.metadata), "low");
        for (const target of targetsOf(source, stores)) queues.copy.add(keyOf(target), "low");
      }),
    countedAs: ({ secret }) => secret,
    reconciler: sharedSecretReconciler,
  };
}

function enqueue(change: Change<Source>, enqueuer: Enqueuer): void {
  const { key, before, after } = change;
  const { queues, stores } = enqueuer;
  queues.sharedSecret.add(key, "high");
  enqueuer.forgetDeleted(before?.secret, after?.secret);
  enqueueOutboxes(change, enqueuer);
  if (!concernsCopies(before, after)) return;
  for (const source of statesWithTargets(before, after)) {
    const targets = targetsOf(source, stores);
    const wanted = new Set(targets.map(keyOf));
    for (const target of wanted)
      queues.copy.add(target, stores.copies.has(target) ? "low" : "normal");
    for (const target of targets) enqueueConflicting(source, target, enqueuer);
    for (const copy of copyKeysOf(source, stores))
      queues.copy.add(copy, wanted.has(copy) ? "low" : "normal");
  }
  // Those that are not permitted: any namespace may ask.
  for (const request of requestsFor(refOf(key), stores)) queues.copy.add(request, "low");
}

/** The states whose targets differ: a change of the data alone does not change them. */
function statesWithTargets(
  before: Source | undefined,
  after: Source | undefined,
): readonly Source[] {
  const states = [before, after].filter((state) => state !== undefined);
  const [first, second] = states;
  return first !== undefined && second !== undefined && haveSameTargets(first, second)
    ? [second]
    : states;
}

function haveSameTargets(before: Source, after: Source): boolean {
  const [one, other] = [before.secret.metadata, after.secret.metadata];
  return (
    one.uid === other.uid &&
    one.deletionTimestamp === other.deletionTimestamp &&
    // Then its copies are withdrawn, also those that were written during its finalization.
    isFinalizing(before) === isFinalizing(after) &&
    isSame(before.options, after.options)
  );
}

/** Enqueues the other SharedSecrets that sync to the target of this one. */
function enqueueConflicting(
  source: Source,
  target: ObjectRef,
  { queues, stores }: LeaderState,
): void {
  for (const { secret } of candidatesFor(target, stores)) {
    if (secret.metadata.uid !== source.secret.metadata.uid)
      queues.sharedSecret.add(keyOf(secret.metadata), "low");
  }
}

/** Whether a change of a SharedSecret affects its copies. */
function concernsCopies(before: Source | undefined, after: Source | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  return (
    before.digest !== after.digest ||
    before.ownDigest !== after.ownDigest ||
    !haveSameTargets(before, after)
  );
}

const resource = resources.sharedSecrets;

/**
 * Reconciles a SharedSecret: its access, its finalization and its status. Its copies are reconciled
 * by their own queue.
 */
export const sharedSecretReconciler: Reconciler = {
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
    copies: copiesOf(source, stores),
    failure: failureAt("sharedSecret", keyOf(metadata), world),
  };
  const holding = holdingClusters(metadata.uid, stores);
  const agents = holding.map((cluster) => ({ heartbeatAgeMs: heartbeatAgeMs(cluster, world) }));
  const deleting = {
    resource,
    ref: metadata,
    grantsStand: access.bindings.length + access.roles.length > 0,
    grantees: granteesOf(seen),
    settleMs: isNamespaceTerminating(source, world) ? 0 : options.grantSettleTime,
    heldUntil: (seenAt: number) => heldUntil(seenAt, agents),
    plan(phase: FinalizationPhase, now: number): Plan {
      const plan = planTermination(seen, { phase, now });
      const isLeaving = phase.kind === "release" && hasFinalizer(metadata);
      const events = isLeaving ? unconfirmedRemoval(metadata, holding) : [];
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
  };
}

/** Starts the refresh of the targets of a source if it requests one; returns its progress. */
export function startRefresh(source: Source, now: number, world: World): RefreshProgress {
  const { stores } = world;
  const targets = () => [...targetsOf(source, stores), ...copyKeysOf(source, stores).map(refOf)];
  return observeRefresh(source, { targets, now }, world);
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
