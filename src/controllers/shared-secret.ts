import { type Key, keyOf, refOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import { accessFailure, temporaryFailure } from "../domain/plan/failed-request.ts";
import { planStuckFinalization } from "../domain/plan/finalization.ts";
import { hasFinalizer } from "../domain/plan/finalizer.ts";
import { nothingToDo } from "../domain/plan/plan.ts";
import { revokeSteps } from "../domain/shared-secret/access.ts";
import {
  granteesOf,
  isProgressDue,
  type ObservedSharedSecret,
  planReport,
  planSharedSecret,
  planTermination,
} from "../domain/shared-secret/shared-secret.ts";
import type { Source } from "../domain/sync/copy.ts";
import { copiesOf, copyKeysOf, targetsOf } from "../domain/sync/sync-objects.ts";
import type { SyncSummary } from "../domain/sync/sync-summary.ts";
import { observeDerived } from "./derived-objects.ts";
import { failureAt } from "./memory.ts";
import { afterPhase, observeFinalization } from "./finalization.ts";
import { type Answers, answerTo, type Ask, type Decision, isAsk } from "./question.ts";
import type { Reconciler } from "./reconciler.ts";
import { forgetRefresh, observeRefresh, type RefreshProgress } from "./refreshes.ts";
import type { World } from "./world.ts";

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
    const isLive = metadata !== undefined && metadata.deletionTimestamp === undefined;
    return isLive && hasFinalizer(metadata) ? accessFailure(failed) : temporaryFailure(failed);
  },
  report({ key, world, answers, reported: failure }) {
    const source = world.stores.sharedSecrets.get(key);
    if (source === undefined) return undefined;
    const now = world.clock.now();
    if (isGoing(source)) return planStuckFinalization(resource, source.secret, { now, failure });
    const observed = observe(source, world, answers);
    return isAsk(observed) ? undefined : planReport({ ...observed, failure }, now);
  },
};

function decide(key: Key, world: World, answers: Answers): Decision {
  const source = world.stores.sharedSecrets.get(key);
  if (source === undefined) return decideLeftover(key, world, answers);
  return isGoing(source)
    ? decideTermination(source, world, answers)
    : decideLive(source, world, answers);
}

/** Deletes the orphaned objects in the namespace of a SharedSecret that does not exist. */
function decideLeftover(key: Key, world: World, answers: Answers): Decision {
  forgetRefresh(key, world);
  const access = observeDerived(refOf(key), undefined, world.stores, answers);
  if (isAsk(access)) return access;
  return { ...nothingToDo, steps: revokeSteps({ ...access, roles: [], bindings: [] }) };
}

function decideLive(source: Source, world: World, answers: Answers): Decision {
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
  return startAt === undefined || plan.result.kind !== "done"
    ? plan
    : { ...plan, result: { kind: "requeue-at", at: startAt } };
}

/**
 * Decides about a SharedSecret that is being deleted. In a terminating namespace it skips the settle
 * time: no object can be created there under the same name.
 */
function decideTermination(source: Source, world: World, answers: Answers): Decision {
  const { stores, memory, options } = world;
  const { metadata } = source.secret;
  const access = observeDerived(metadata, source, stores, answers);
  if (isAsk(access)) return access;
  const seen = {
    source,
    access,
    prefixes: options.prefixes,
    copies: copiesOf(source, stores),
    failure: failureAt("sharedSecret", keyOf(metadata), memory),
  };
  const deleting = {
    resource,
    ref: metadata,
    grantsStand: access.bindings.length + access.roles.length > 0,
    grantees: granteesOf(seen),
    settleMs: isNamespaceTerminating(source, world) ? 0 : options.grantSettleTime,
  };
  const phase = observeFinalization(deleting, world, answers);
  if (isAsk(phase)) return phase;
  const plan = planTermination(seen, { phase, now: world.clock.now() });
  return { ...plan, result: afterPhase(phase, world) };
}

function observe(
  source: Source,
  world: World,
  answers: Answers,
): Omit<ObservedSharedSecret, "waitingSince" | "refreshed"> | Ask {
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
    failure: failureAt("sharedSecret", keyOf(metadata), world.memory),
  };
}

function startRefresh(source: Source, now: number, world: World): RefreshProgress {
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

function isGoing({ secret }: Source): boolean {
  return secret.metadata.deletionTimestamp !== undefined;
}

function isNamespaceTerminating({ secret }: Source, { stores }: World): boolean {
  const { namespace = "" } = secret.metadata;
  return stores.namespaces.get(namespace)?.deletionTimestamp !== undefined;
}
