import { type Key, keyOf, type ObjectRef } from "../api/object.ts";
import { isRecord, recordAt, stringAt } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import type { Result } from "../api/result.ts";
import { temporaryFailure } from "../domain/plan/failed-request.ts";
import { nothingToDo, type Plan, type Write } from "../domain/plan/plan.ts";
import { isKubeError, type KubeErrorCode } from "../kube/client/kube-error.ts";
import { endFailure, failedRequest, noteFailure } from "./failures.ts";
import { type Answer, isAsk, isQuestion, questionKey, type Request } from "./question.ts";
import type { Reconciler } from "./reconciler.ts";
import type { SyncWorld } from "./sync-world.ts";

/** The outcome of a request: its answer, the response to a write, or the error of its failure. */
export type Outcome =
  | { readonly answer: Answer }
  | { readonly response: unknown }
  | { readonly error: unknown };

/** A request in flight, and the failure after which an object is read again. */
interface Slot {
  request: Request;
  isDone: boolean;
  error?: unknown;
  /** Whether the object of a patch or delete was not found. */
  isNotFound?: boolean;
}

/** One reconcile in progress, as a value: no decision of it waits in a call. */
export interface ReconcileAttempt {
  readonly key: Key;
  phase: "asking" | "applying" | "reporting";
  readonly answers: Map<string, Answer>;
  /** Decisions so far. */
  decisions: number;
  plan: Plan;
  /** The step of the plan whose requests are in flight. */
  step: number;
  /** The requests in flight; all of them end before the next step, or the next decision. */
  slots: readonly Slot[];
  /** Number of slots that are not done. */
  open: number;
  /** resourceVersions from the responses to earlier steps of this plan; later steps use them. */
  readonly written: Map<Key, string>;
  /** How the attempt ends after its report. */
  verdict: End;
  /** Undefined while requests are in flight. */
  end: End | undefined;
}

/** The result of an attempt, or the error that it fails with. */
type End = { readonly result: Result } | { readonly error: unknown };

/** Whose attempt it is, and in which world. */
export interface ReconcileContext<W extends SyncWorld = SyncWorld> {
  readonly reconciler: Reconciler<W>;
  readonly world: W;
}

/** Maximum number of decisions of an attempt: the stores change with every answer. */
const mostDecisions = 20;

const decideAgainMs = 1_000;

/**
 * Errors after which the stored object may be stale, so that it is read again. The watch would
 * correct it later, but not if the API server has lost writes (a crashed etcd), and too late for a
 * thousand targets.
 */
const doubtful: readonly KubeErrorCode[] = ["Conflict", "AlreadyExists", "NotFound", "Network"];

/**
 * Reconciles a key: decides, sends what the decision requires, and decides again until nothing is
 * left. Throws the KubeError that it fails with.
 */
export async function reconcile<W extends SyncWorld>(
  key: Key,
  context: ReconcileContext<W>,
  send: (request: Request) => Promise<Outcome>,
): Promise<Result> {
  const attempt = beginAttempt(key, context);
  while (attempt.end === undefined) {
    const sent = attempt.slots.map(async (slot) => {
      while (!slot.isDone) settle(attempt, slot, await send(slot.request), context);
    });
    const bug = (await Promise.allSettled(sent)).find(({ status }) => status === "rejected");
    if (bug?.status === "rejected") throw bug.reason;
  }
  if ("error" in attempt.end) throw attempt.end.error;
  return attempt.end.result;
}

/** Begins a reconcile of a key: it has requests to send, or has ended. */
export function beginAttempt<W extends SyncWorld>(
  key: Key,
  context: ReconcileContext<W>,
): ReconcileAttempt {
  const attempt: ReconcileAttempt = {
    key,
    phase: "asking",
    answers: new Map(),
    decisions: 0,
    plan: nothingToDo,
    step: 0,
    slots: [],
    open: 0,
    written: new Map(),
    verdict: { result: nothingToDo.result },
    end: undefined,
  };
  decide(attempt, context);
  return attempt;
}

/**
 * Takes the outcome of the request in a slot: puts the response to a write into the stores, and
 * after the last outcome of a step goes on to the next one or decides again.
 */
export function settle<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  slot: Slot,
  outcome: Outcome,
  context: ReconcileContext<W>,
): void {
  const { request } = slot;
  if ("answer" in outcome && isQuestion(request)) {
    if (attempt.phase === "asking") attempt.answers.set(questionKey(request), outcome.answer);
    // An object that is gone needs no status, no finalizer and no delete; a restore may bring it
    // back.
    else if (slot.isNotFound === true && request.do === "refresh" && !context.world.has(request))
      slot.error = undefined;
  } else if ("response" in outcome) {
    if (!isQuestion(request)) recordResponse(attempt, request, outcome.response, context);
  } else if (
    "error" in outcome &&
    !isQuestion(request) &&
    isStoredDoubtful(request, outcome.error)
  ) {
    slot.error = outcome.error;
    slot.isNotFound =
      (request.do === "patch" || request.do === "delete") && isKubeError(outcome.error, "NotFound");
    slot.request = { do: "refresh", resource: request.resource, ref: refOf(request) };
    return;
  } else if ("error" in outcome) slot.error ??= outcome.error;
  slot.isDone = true;
  attempt.open -= 1;
  if (attempt.open === 0) endStep(attempt, context);
}

function endStep<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  context: ReconcileContext<W>,
): void {
  const failed = attempt.slots.find(({ error }) => error !== undefined);
  if (attempt.phase === "asking" && failed === undefined) return decide(attempt, context);
  if (failed === undefined) return beginStep(attempt, attempt.step + 1, context);
  if (attempt.phase !== "reporting") return fail(attempt, failed.error, context);
  // The report may fail for the same reason; the next attempt reports again.
  attempt.end = isKubeError(failed.error) ? attempt.verdict : { error: failed.error };
}

function decide<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  context: ReconcileContext<W>,
): void {
  const { reconciler, world } = context;
  attempt.decisions += 1;
  const decision = reconciler.decide(attempt.key, world, attempt.answers);
  if ("steps" in decision) {
    attempt.phase = "applying";
    attempt.plan = decision;
    return beginStep(attempt, 0, context);
  }
  const questions = isAsk(decision) ? decision.questions : [];
  if (questions.length > 0 && attempt.decisions <= mostDecisions) return fill(attempt, questions);
  const at = isAsk(decision) ? world.clock.now() + decideAgainMs : decision.decideAt;
  finish(attempt, { kind: "requeue-at", at }, context);
}

function fill(attempt: ReconcileAttempt, requests: readonly Request[]): void {
  attempt.slots = requests.map((request) => ({ request, isDone: false }));
  attempt.open = requests.length;
}

function beginStep<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  step: number,
  context: ReconcileContext<W>,
): void {
  const { plan, written } = attempt;
  const writes = plan.steps[step];
  if (writes !== undefined) {
    attempt.step = step;
    if (writes.length === 0) return beginStep(attempt, step + 1, context);
    return fill(
      attempt,
      writes.map((write) => rebased(write, written)),
    );
  }
  if (attempt.phase === "reporting") {
    attempt.end = attempt.verdict;
    return;
  }
  const { reconciler, world } = context;
  if (plan.log !== undefined) world.log[plan.log.level](plan.log.fields, plan.log.message);
  endFailure(reconciler, attempt.key, world);
  finish(attempt, plan.result, context);
}

function finish<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  result: Result,
  { reconciler, world }: ReconcileContext<W>,
): void {
  reconciler.ended?.(attempt.key, world, attempt.answers);
  attempt.end = { result };
}

/** Records the failure of a request, and reports it in the status if that is due. */
function fail<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  error: unknown,
  context: ReconcileContext<W>,
): void {
  const { reconciler, world } = context;
  attempt.verdict = { error };
  // Without the Lease no request is sent, so the error says nothing about the object.
  if (!isKubeError(error) || error.code === "Fenced") {
    attempt.end = attempt.verdict;
    return;
  }
  const { key, answers } = attempt;
  const failed = failedRequest(error, attempt.phase === "applying");
  const { failure, isOver, result } =
    reconciler.judge?.(failed, key, world) ?? temporaryFailure(failed);
  if (isOver === true) endFailure(reconciler, key, world);
  const reported = failure === undefined ? undefined : noteFailure(reconciler, key, failure, world);
  if (result !== undefined) {
    reconciler.ended?.(key, world, answers);
    attempt.verdict = { result };
  }
  const report =
    reported === undefined
      ? undefined
      : reconciler.report?.({ key, world, answers, failed, reported });
  attempt.phase = "reporting";
  attempt.plan = report ?? nothingToDo;
  beginStep(attempt, 0, context);
}

type StoredWrite = Exclude<Write, { do: "record-event" | "dry-run-create" }>;

function isStoredDoubtful(write: Write, error: unknown): write is StoredWrite {
  return (
    write.do !== "record-event" && write.do !== "dry-run-create" && isKubeError(error, ...doubtful)
  );
}

function recordResponse<W extends SyncWorld>(
  { written }: ReconcileAttempt,
  write: Write,
  response: unknown,
  { world }: ReconcileContext<W>,
): void {
  switch (write.do) {
    case "dry-run-create":
    case "record-event":
      return;
    case "delete":
      if (!isRecord(response)) return;
      // Finalizers keep the object.
      if (response["kind"] !== "Status") return world.recordWrite(write.resource, response);
      return world.recordDelete(write.resource, write.ref, write.uid);
    case "create":
    case "replace":
    case "patch": {
      const resourceVersion = stringAt(recordAt(response, "metadata"), "resourceVersion");
      if (resourceVersion !== undefined)
        written.set(writtenKey(write.resource, refOf(write)), resourceVersion);
      world.recordWrite(write.resource, response);
    }
  }
}

/** The write, on the resourceVersion of this attempt's own last write to the object. */
function rebased(write: Write, written: ReadonlyMap<Key, string>): Write {
  const isOwn = write.do === "replace" || write.do === "patch" || write.do === "delete";
  const resourceVersion = isOwn ? written.get(writtenKey(write.resource, refOf(write))) : undefined;
  if (!isOwn || resourceVersion === undefined) return write;
  switch (write.do) {
    case "delete":
      return { ...write, resourceVersion };
    case "replace": {
      const { object } = write;
      return { ...write, object: { ...object, metadata: { ...object.metadata, resourceVersion } } };
    }
    case "patch": {
      const { body } = write;
      return { ...write, body: { ...body, metadata: { ...body.metadata, resourceVersion } } };
    }
  }
}

function refOf(write: StoredWrite): ObjectRef {
  return write.do === "patch" || write.do === "delete" ? write.ref : write.object.metadata;
}

function writtenKey(resource: Resource, { namespace, name }: ObjectRef): Key {
  return `${resource.plural}/${keyOf(namespace === undefined ? { name } : { namespace, name })}`;
}
