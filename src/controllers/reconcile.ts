import type { Key } from "../api/object.ts";
import { isRecord, recordAt, stringAt } from "../api/parse.ts";
import type { Result } from "../api/result.ts";
import { contestedCause, contestedRequest } from "../domain/plan/contested.ts";
import { type FailedRequest, temporaryFailure } from "../domain/plan/failed-request.ts";
import { nothingToDo, type Plan, type Write } from "../domain/plan/plan.ts";
import { leastPauseMs } from "../domain/plan/failure-history.ts";
import {
  type Held,
  intentOf,
  objectOf,
  overwrittenBy,
  quietMs,
  recordRepair,
  refOfWrite,
  slotOf,
  type StoredWrite,
  withoutHeld,
} from "../domain/plan/repairs.ts";
import { isKubeError, type KubeErrorCode } from "../kube/client/kube-error.ts";
import { endFailure, failedRequest, noteFailure } from "./failures.ts";
import {
  type Answer,
  answerTo,
  isAsk,
  isQuestion,
  questionKey,
  readOf,
  type Question,
  type Request,
} from "./question.ts";
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
  /** The repairs that are left out of the plan, because they are not due yet. */
  held: Held | undefined;
  /** The step of the plan whose requests are in flight. */
  step: number;
  /** The requests in flight; all of them end before the next step, or the next decision. */
  slots: readonly Slot[];
  /** Number of slots that are not done. */
  open: number;
  /** resourceVersions from the responses to earlier steps of this plan; later steps use them. */
  readonly written: Map<Key, string>;
  /** Whether a write has changed nothing, because the API server undoes it. */
  isUndone: boolean;
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
    held: undefined,
    step: 0,
    slots: [],
    open: 0,
    written: new Map(),
    isUndone: false,
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
    slot.request = { do: "refresh", resource: request.resource, ref: refOfWrite(request) };
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
  const { error, request } = failed;
  // Where a report deletes, what is not deleted is reported once more.
  if (attempt.phase !== "reporting" || (request.do === "delete" && isKubeError(error)))
    return fail(attempt, { error, request }, context);
  // The report may fail for the same reason; the next attempt reports again.
  attempt.end = isKubeError(error) ? attempt.verdict : { error };
}

function decide<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  context: ReconcileContext<W>,
): void {
  const { reconciler, world } = context;
  attempt.decisions += 1;
  const decision = reconciler.decide(attempt.key, world, attempt.answers);
  const isPlan = "steps" in decision;
  const { plan, held } = isPlan
    ? withoutHeld(decision, world.memory.repairs, world.clock.monotonic())
    : {};
  const questions = isAsk(decision) ? decision.questions : unreadOf(held, attempt, world);
  if (plan !== undefined && questions.length === 0) {
    attempt.phase = "applying";
    [attempt.plan, attempt.held] = [plan, held];
    return beginStep(attempt, 0, context);
  }
  if (questions.length > 0 && attempt.decisions <= mostDecisions) return fill(attempt, questions);
  const at = "decideAt" in decision ? decision.decideAt : world.clock.now() + decideAgainMs;
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
  if (attempt.held !== undefined) return contest(attempt, attempt.held, context);
  if (plan.log !== undefined) world.log[plan.log.level](plan.log.fields, plan.log.message);
  endFailure(reconciler, attempt.key, world);
  // No event follows. The same write again is a repair; one that never waits is not repeated faster
  // than a failure.
  const again = { kind: "requeue-with-backoff" } as const;
  finish(attempt, attempt.isUndone ? again : plan.result, context);
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
  { error, request }: { readonly error: unknown; readonly request: Request },
  context: ReconcileContext<W>,
): void {
  attempt.verdict = { error };
  // Without the Lease no request is sent, so the error says nothing about the object.
  if (!isKubeError(error) || error.code === "Fenced") {
    attempt.end = attempt.verdict;
    return;
  }
  const failed = failedRequest(error, attempt.phase !== "asking");
  note(attempt, { failed, request }, context);
}

/** Records a failure, until `contestedUntil` whatever succeeds, and reports it if that is due. */
function note<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  {
    failed,
    request,
    contestedUntil,
  }: {
    readonly failed: FailedRequest;
    readonly request?: Request;
    readonly contestedUntil?: number;
  },
  { reconciler, world }: ReconcileContext<W>,
): void {
  const { key, answers } = attempt;
  const isDelete = request?.do === "delete";
  const { failure, isOver, result } =
    reconciler.judge?.(failed, key, world) ?? temporaryFailure(failed);
  if (isOver === true) endFailure(reconciler, key, world);
  const reported = failure && noteFailure(reconciler, key, failure, world, contestedUntil);
  if (result !== undefined) {
    reconciler.ended?.(key, world, answers);
    const history = world.memory.failures[reconciler.queue].get(key);
    // What takes data or rights back is tried as often as ever.
    const takesBack = isDelete || (request !== undefined && isRemoving(request));
    const isPaced = result.kind === "requeue-with-backoff" && history !== undefined && !takesBack;
    const paced = isPaced && {
      ...result,
      atLeastMs: leastPauseMs(history, world.clock.monotonic()),
    };
    attempt.verdict = { result: paced || result };
  }
  const report =
    reported === undefined
      ? undefined
      : reconciler.report?.({ key, world, answers, failed, isDelete, reported });
  attempt.phase = "reporting";
  attempt.plan = withoutHeld(
    report ?? nothingToDo,
    world.memory.repairs,
    world.clock.monotonic(),
  ).plan;
  beginStep(attempt, 0, { reconciler, world });
}

function isRemoving(request: Request): boolean {
  return "isRemoval" in request && request.isRemoval === true;
}

/** The question who undoes the write that waits, unless it is known. */
function unreadOf<W extends SyncWorld>(
  held: Held | undefined,
  { answers }: ReconcileAttempt,
  { memory }: W,
): readonly Question[] {
  if (held === undefined || memory.repairs.get(slotOf(held.write))?.why !== undefined) return [];
  const read = readOf(held.write.resource, refOfWrite(held.write));
  return answers.has(questionKey(read)) ? [] : [read];
}

/** Ends an attempt that left repairs out, which is reported like a failure. */
function contest<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  { until, write }: Held,
  context: ReconcileContext<W>,
): void {
  const { memory, clock } = context.world;
  const slot = slotOf(write);
  const repair = memory.repairs.get(slot);
  const read = answerTo(readOf(write.resource, refOfWrite(write)), attempt.answers);
  const why = repair?.why ?? contestedCause(read?.object ?? { kind: "unknown" });
  if (repair !== undefined) memory.repairs.set(slot, { ...repair, why });
  const at = clock.now() + until - clock.monotonic();
  const { result } = attempt.plan;
  const isEarlier = result.kind === "requeue-at" && result.at < at;
  attempt.verdict = { result: isEarlier ? result : { kind: "requeue-at", at } };
  const contestedUntil = (repair?.at ?? clock.monotonic()) + quietMs;
  note(attempt, { failed: contestedRequest(write, why), contestedUntil }, context);
}

function isStoredDoubtful(write: Write, error: unknown): write is StoredWrite {
  return (
    write.do !== "record-event" && write.do !== "dry-run-create" && isKubeError(error, ...doubtful)
  );
}

function recordResponse<W extends SyncWorld>(
  attempt: ReconcileAttempt,
  write: Write,
  response: unknown,
  { world }: ReconcileContext<W>,
): void {
  if (write.do === "dry-run-create" || write.do === "record-event") return;
  const { written, plan } = attempt;
  noteRepair(write, plan, world);
  switch (write.do) {
    case "delete":
      if (!isRecord(response)) return;
      // Finalizers keep the object.
      if (response["kind"] !== "Status") return world.recordWrite(write.resource, response);
      return world.recordDelete(write.resource, write.ref, write.uid);
    case "create":
    case "replace":
    case "patch": {
      const resourceVersion = stringAt(recordAt(response, "metadata"), "resourceVersion");
      if (resourceVersion !== undefined) written.set(objectOf(write), resourceVersion);
      attempt.isUndone ||= resourceVersion !== undefined && resourceVersion === versionOf(write);
      world.recordWrite(write.resource, response);
    }
  }
}

/** The resourceVersion that a write was decided on. */
function versionOf(write: StoredWrite): string | undefined {
  if (write.do === "replace") return write.object.metadata.resourceVersion;
  return write.do === "patch" ? write.body.metadata.resourceVersion : undefined;
}

/** Writes of the last ten minutes that are remembered at most. */
const mostRepairs = 20_000;

/**
 * Remembers a write that succeeded, so that its repetitions wait. After a delete that no create
 * follows, Latchkey wants something else of the object.
 */
function noteRepair(
  write: StoredWrite,
  plan: Plan,
  { memory: { repairs }, clock }: SyncWorld,
): void {
  const [intent, slot, now] = [intentOf(write), slotOf(write), clock.monotonic()];
  const before = repairs.get(slot);
  const isCreated = plan.steps.flat().some((one) => one.do === "create" && slotOf(one) === slot);
  const overwritten = overwrittenBy(write);
  if (overwritten !== undefined) repairs.delete(overwritten);
  if (intent !== undefined || !isCreated) repairs.delete(slot);
  if (intent !== undefined) repairs.set(slot, recordRepair(before, intent, now));
  for (const [oldest, { at }] of repairs) {
    if (repairs.size <= mostRepairs && now - at < quietMs) return;
    repairs.delete(oldest);
  }
}

/** The write, on the resourceVersion of this attempt's own last write to the object. */
function rebased(write: Write, written: ReadonlyMap<Key, string>): Write {
  const isOwn = write.do === "replace" || write.do === "patch" || write.do === "delete";
  const resourceVersion = isOwn ? written.get(objectOf(write)) : undefined;
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
