import type { Result } from "../api/result.ts";
import { type Key, keyOf, type ObjectRef, refOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import type { Prefixes } from "../domain/names.ts";
import { type ObservedAccess, revokeSteps } from "../domain/shared-secret/access.ts";
import type { Source } from "../domain/sync/copy.ts";
import { withheldKeys } from "../domain/sync/copy-metadata.ts";
import { nothingToDo, type Plan } from "../domain/plan/plan.ts";
import {
  granteesOf,
  isProgressDue,
  planReport,
  planSharedSecret,
  planTermination,
  type ObservedSharedSecret,
} from "../domain/shared-secret/shared-secret.ts";
import {
  copiesOf,
  copyKeysOf,
  emptyProjectsOf,
  observeTarget,
  targetsOf,
} from "../domain/sync/sync-objects.ts";
import { type SyncSummary, summarize, type TargetReport } from "../domain/sync/sync-summary.ts";
import { targetState } from "../domain/sync/sync.ts";
import type { Failure } from "../domain/plan/failure-history.ts";
import { hasFinalizer } from "../domain/plan/finalizer.ts";
import { planStuckFinalization } from "../domain/plan/finalization.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError, isRejection, isTooLarge } from "../kube/errors.ts";
import type { Yielder } from "../kube/yielder.ts";
import type { Clock } from "../runtime/clock.ts";
import { type ApplyPlanDeps, applyPlan } from "./apply-plan.ts";
import { accessFailureOf, type Failures, recordingFailures, type Try } from "./failures.ts";
import { observeDerived } from "./derived-objects.ts";
import { afterPhase, observeFinalization, type FinalizationDeps } from "./finalization.ts";
import type { Refreshes } from "./refreshes.ts";
import type { Stores } from "./stores.ts";
import type { ObservedTarget } from "../domain/sync/target-state.ts";

/** Dependencies of {@link reconcileSharedSecret}. */
export interface SharedSecretDeps extends ApplyPlanDeps, Omit<FinalizationDeps, "client"> {
  readonly client: Client;
  readonly clock: Clock;
  readonly yielder: Yielder;
  readonly prefixes: Prefixes;
  readonly stores: Stores;
  /**
   * The failure that the status of a target reports; undefined in the first 30 s of a transient
   * one.
   */
  readonly reportedFailureAt: (target: Key) => Failure | undefined;
  /**
   * Since when the status of a source (by uid) has waited for its targets, in milliseconds since
   * the epoch.
   */
  readonly waitingSince: Map<string, number>;
  readonly sharedSecretFailures: Pick<Failures, "at" | "record" | "end">;
  readonly refreshes: Pick<Refreshes, "observe" | "forget">;
}

/**
 * Reconciles a SharedSecret: its access, its finalization and its status. Its copies are reconciled
 * by their own queue.
 */
export async function reconcileSharedSecret(key: Key, deps: SharedSecretDeps): Promise<Result> {
  const source = deps.stores.sharedSecrets.get(key);
  if (source === undefined) {
    deps.sharedSecretFailures.end(key);
    deps.refreshes.forget(key);
    await applyPlan(leftoverPlan(await observeDerived(refOf(key), source, deps)), deps);
    return nothingToDo.result;
  }
  const isGoing = source.secret.metadata.deletionTimestamp !== undefined;
  try {
    return await recordingFailures(
      key,
      isGoing ? finalize(source, deps) : reconcileLive(source, deps),
      deps.sharedSecretFailures,
    );
  } catch (error) {
    const isFinal = isRejection(error) || (isKubeError(error) && isTooLarge(error));
    if (!isFinal || isGoing || !hasFinalizer(source.secret.metadata)) throw error;
    return { kind: "requeue-with-backoff" };
  }
}

/** One attempt at a SharedSecret that is not being deleted. */
function reconcileLive(source: Source, deps: SharedSecretDeps): Try {
  let seen: ObservedSharedSecret | undefined;
  return {
    async apply() {
      const derived = await observeDerived(source.secret.metadata, source, deps);
      const summary = await observeSync(source, deps);
      const now = deps.clock.now();
      const { refreshed, startAt } = deps.refreshes.observe(
        source,
        () => [...targetsOf(source, deps.stores), ...copyKeysOf(source, deps.stores).map(refOf)],
        now,
      );
      seen = {
        ...observe(source, derived, { ...deps, summary, now }),
        ...(refreshed === undefined ? {} : { refreshed }),
      };
      const plan = planSharedSecret(seen, now);
      await applyPlan(plan, deps);
      return startAt === undefined || plan.result.kind !== "done"
        ? plan.result
        : { kind: "requeue-at", at: startAt };
    },
    async report(failure) {
      if (seen !== undefined)
        await applyPlan(planReport({ ...seen, failure }, deps.clock.now()), deps);
    },
    ...(hasFinalizer(source.secret.metadata) ? { failureOf: accessFailureOf } : {}),
  };
}

/**
 * One attempt at a SharedSecret that is being deleted. In a terminating namespace it skips the
 * settle time: no object can be created there under the same name.
 */
function finalize(source: Source, deps: SharedSecretDeps): Try {
  const { stores, prefixes, clock } = deps;
  const { metadata } = source.secret;
  const isWithNamespace =
    stores.namespaces.get(metadata.namespace ?? "")?.deletionTimestamp !== undefined;
  return {
    async apply() {
      const access = await observeDerived(metadata, source, deps);
      const seen = {
        source,
        access,
        prefixes,
        copies: copiesOf(source, stores),
        failure: deps.sharedSecretFailures.at(keyOf(metadata)),
      };
      const deleting = {
        resource: resources.sharedSecrets,
        ref: metadata,
        grantsStand: access.bindings.length + access.roles.length > 0,
        grantees: granteesOf(seen),
      };
      const phase = await observeFinalization(
        deleting,
        isWithNamespace ? { ...deps, grantSettleTime: 0 } : deps,
      );
      await applyPlan(planTermination(seen, { phase, now: clock.now() }), deps);
      return afterPhase(phase, deps);
    },
    report: (failure) =>
      applyPlan(
        planStuckFinalization(resources.sharedSecrets, source.secret, {
          now: clock.now(),
          failure,
        }),
        deps,
      ),
  };
}

function observe(
  source: Source,
  access: Omit<ObservedAccess, "secret">,
  deps: SharedSecretDeps & { readonly summary: SyncSummary; readonly now: number },
): ObservedSharedSecret {
  const { stores, prefixes, summary, now } = deps;
  const { namespace = "", uid } = source.secret.metadata;
  const waitingSince = noteWaiting({ uid, summary, now }, deps.waitingSince);
  return {
    source,
    access,
    prefixes,
    namespaceIsTerminating: stores.namespaces.get(namespace)?.deletionTimestamp !== undefined,
    summary,
    failure: deps.sharedSecretFailures.at(keyOf(source.secret.metadata)),
    ...(waitingSince === undefined ? {} : { waitingSince }),
  };
}

function leftoverPlan({ orphanedRoles, orphanedBindings }: Omit<ObservedAccess, "secret">): Plan {
  const nothing = { roles: [], bindings: [], orphanedRoles, orphanedBindings };
  return { ...nothingToDo, steps: revokeSteps(nothing) };
}

/** Counts the targets, yielding in between: a change meanwhile enqueues the source again. */
async function observeSync(source: Source, deps: SharedSecretDeps): Promise<SyncSummary> {
  const reports: TargetReport[] = [];
  await deps.yielder.forEach(targetsOf(source, deps.stores), (target) => {
    const seen = observeTarget(target, deps.stores);
    const failure = deps.reportedFailureAt(keyOf(target));
    const [, rival] = seen.candidates[0] === source ? seen.candidates : [];
    reports.push({
      target,
      regarding: regardingOf(target, seen, deps.stores),
      state: targetState(seen),
      ...(seen.request === undefined ? {} : { request: seen.request }),
      ...(failure === undefined ? {} : { failure }),
      ...(rival === undefined ? {} : { conflicting: rival.secret.metadata }),
      // A placeholder has only its own labels and annotations.
      ...(seen.request === undefined
        ? { withheld: withheldKeys(source.options.copyMetadata, seen.allowCopyKeys) }
        : {}),
    });
  });
  return summarize(source, reports, emptyProjectsOf(source, deps.stores));
}

/** The object that an Event at the target regards: the existing Secret, or the namespace. */
function regardingOf(
  target: ObjectRef & { readonly namespace: string },
  { copy, unmanaged }: ObservedTarget,
  { namespaces }: Stores,
): TargetReport["regarding"] {
  const existing = copy ?? unmanaged;
  if (existing !== undefined) return { resource: resources.secrets, subject: existing.metadata };
  const { namespace } = target;
  // An Event must be in the namespace of its regarding object; for a Namespace, that is its own
  // name.
  return {
    resource: resources.namespaces,
    subject: { namespace, name: namespace, uid: namespaces.get(namespace)?.uid ?? "" },
  };
}

/**
 * Since when the status has waited for its targets; the wait starts again when this reconcile
 * reports progress.
 */
function noteWaiting(
  {
    uid,
    summary,
    now,
  }: { readonly uid: string; readonly summary: SyncSummary; readonly now: number },
  waits: Map<string, number>,
): number | undefined {
  const since = summary.pending === 0 ? undefined : (waits.get(uid) ?? now);
  if (since === undefined) waits.delete(uid);
  else waits.set(uid, isProgressDue(since, now) ? now : since);
  return since;
}
