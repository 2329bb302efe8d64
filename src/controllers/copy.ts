import type { Result } from "../api/result.ts";
import { type Key, keyOf, type ObjectRef, refOf } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import type { SecretData } from "../api/shared-secret.ts";
import { targetState, writtenForm, writtenSource } from "../domain/sync/sync.ts";
import { observeTarget } from "../domain/sync/sync-objects.ts";
import type { TargetState } from "../domain/sync/target-state.ts";
import { rejectedSteps, targetSteps } from "../domain/sync/target-steps.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError, isRefusal, isRejection, type KubeError } from "../kube/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import { type ApplyPlanDeps, applyPlan } from "./apply-plan.ts";
import type { Failures } from "./failures.ts";
import { readLive } from "./live-object.ts";
import type { Refreshes } from "./refreshes.ts";
import { keptData, type SourceData } from "./source-data.ts";
import type { Stores } from "./stores.ts";

/** Dependencies of {@link reconcileCopy}. */
export interface CopyDeps extends ApplyPlanDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly stores: Stores;
  readonly sourceData: Pick<SourceData, "of">;
  readonly copyFailures: Pick<Failures, "record" | "end">;
  readonly refreshes: Pick<Refreshes, "waitingFor" | "end">;
}

const waitForChange: Result = { kind: "done" };
const askAgainMs = 5_000;

/**
 * Reconciles one Secret in a project namespace; reads it from the API server first if a refresh
 * waits for it.
 */
export async function reconcileCopy(key: Key, deps: CopyDeps): Promise<Result> {
  const waiting = deps.refreshes.waitingFor(key);
  if (waiting.length === 0) return reconcileTarget(key, deps);
  await noting(key, deps.refresh(resources.secrets, refOf(key)), deps);
  const result = await reconcileTarget(key, deps);
  deps.refreshes.end(key, waiting);
  return result;
}

async function reconcileTarget(key: Key, deps: CopyDeps): Promise<Result> {
  const target = refOf(key);
  const observed = await noting(key, observe(target, deps), deps);
  if (observed === undefined) return { kind: "requeue-at", at: deps.clock.now() + askAgainMs };
  const { state, data } = observed;
  if (state.kind === "orphaned" && !(await isGone(state.source, deps.client))) {
    return { kind: "requeue-at", at: deps.clock.now() + askAgainMs };
  }
  try {
    await applyPlan({ steps: targetSteps(target, state, data) }, deps);
    deps.copyFailures.end(key);
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return await afterRefusal({ target, state }, error, deps);
  }
  return waitForChange;
}

/**
 * Returns the state of a target, with the data for its write; undefined if the data has changed
 * since the decision, in which case a watch event follows.
 */
async function observe(
  target: ObjectRef,
  { stores, sourceData }: CopyDeps,
): Promise<{ readonly state: TargetState; readonly data?: SecretData } | undefined> {
  const state = targetState(observeTarget(target, stores));
  const source = writtenSource(state);
  if (source === undefined) return { state };
  const form = writtenForm(state);
  const kept = keptData(source, form);
  if (kept !== undefined) return { state, data: kept };
  const data = await sourceData.of(source, form);
  const since = targetState(observeTarget(target, stores));
  const isSame =
    writtenForm(since) === form &&
    writtenSource(since)?.digest === source.digest &&
    writtenSource(since)?.ownDigest === source.ownDigest &&
    writtenSource(since)?.secret.metadata.uid === source.secret.metadata.uid;
  return data !== undefined && isSame ? { state: since, data } : undefined;
}

/** Whether no SharedSecret of this name exists; the cache catches up with one that does. */
async function isGone(source: ObjectRef, client: Client): Promise<boolean> {
  return (await readLive(resources.sharedSecrets, source, client)).kind === "gone";
}

/**
 * Handles a failed write: throws transient errors, reports errors that require a change at the
 * target and requeues the target with backoff.
 */
async function afterRefusal(
  { target, state }: { readonly target: ObjectRef; readonly state: TargetState },
  error: KubeError,
  deps: CopyDeps,
): Promise<Result> {
  // applyPlan has read the conflicting Secret; if that failed, the requeue reads it.
  if (error.code === "AlreadyExists")
    return { kind: "requeue-at", at: deps.clock.now() + askAgainMs };
  // The namespace is terminating or deleted; its own event enqueues the target.
  if (error.causes.includes("NamespaceTerminating") || isGoneNamespace(error)) {
    deps.copyFailures.end(keyOf(target));
    return waitForChange;
  }
  const failure = { reason: error.reason ?? error.code, message: error.explanation };
  // A failing webhook causes a 500 each time; other server errors are transient.
  const kind = error.code === "ServerError" || isRefusal(error) ? "refused" : "failed";
  if (error.code !== "Fenced") deps.copyFailures.record(keyOf(target), { kind, ...failure });
  if (!isRejection(error)) throw error;
  await markRejected(rejectedSteps(state, `${failure.reason}: ${failure.message}`), deps);
  return { kind: "requeue-with-backoff" };
}

/** Records a failed read like a failed write. */
async function noting<T>(
  key: Key,
  reading: Promise<T>,
  { copyFailures }: Pick<CopyDeps, "copyFailures">,
): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (isKubeError(error))
      copyFailures.record(key, {
        kind: "failed",
        reason: error.reason ?? error.code,
        message: error.explanation,
      });
    throw error;
  }
}

/**
 * Writes the error annotation of a copy; a target that rejects the copy may also reject the
 * annotation.
 */
async function markRejected(
  steps: ReturnType<typeof rejectedSteps>,
  deps: CopyDeps,
): Promise<void> {
  try {
    await applyPlan({ steps }, deps);
  } catch (error) {
    if (!isRejection(error)) throw error;
  }
}

function isGoneNamespace({ code, message, objectName }: KubeError): boolean {
  return code === "NotFound" && message.startsWith("POST ") && objectName !== undefined;
}
