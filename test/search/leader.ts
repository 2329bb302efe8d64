import type { ReconcileAttempt } from "../../src/controllers/reconcile.ts";
import type { LeaderMemory } from "../../src/controllers/memory.ts";
import {
  createQueues,
  type KeyQueue,
  type QueueName,
  type Queues,
} from "../../src/controllers/queues.ts";
import {
  addKey,
  addKeyAfterFailure,
  addKeyAt,
  doneKey,
  forgetKey,
  priorities,
  type QueueState,
  retryKey,
} from "../../src/kube/queue/queue-state.ts";
import { isKubeError } from "../../src/kube/client/kube-error.ts";
import type { ReadStore } from "../../src/kube/informer/store.ts";
import type { Raw } from "../specification/raw.ts";

/** The objects of a kind that a leader had seen when it decided. */
export type Basis = (kind: string) => readonly Raw[];

/** A reconcile in progress, and what its plan was decided on. */
export interface Running {
  readonly queue: QueueName;
  readonly attempt: ReconcileAttempt;
  readonly basis: Basis;
}

/** The state of a leader besides its views. */
export interface Leader {
  readonly memory: LeaderMemory;
  readonly queues: Queues<QueueState>;
  readonly running: readonly Running[];
  /** The uids of objects that it has deleted: it must know, whatever its views have. */
  readonly ownDeletes: Set<string>;
}

/**
 * A copy whose memory and queues may change; a reconcile is copied when it goes on. Only queues with
 * keys are copied: the others are empty in every state of a world.
 */
export function copyOfLeader(
  leader: Leader,
  { used, hasFights }: { readonly used: readonly QueueName[]; readonly hasFights: boolean },
): Leader {
  const copied = (name: QueueName): QueueState => {
    const state = leader.queues[name];
    return used.includes(name) ? copyOfQueue(state) : state;
  };
  const memory = structuredClone(leader.memory);
  // Nothing else is repaired often enough to wait, and the count would be one more state.
  if (!hasFights) memory.repairs.clear();
  // No world changes a Secret often enough to be followed slowly.
  memory.sourcePaces.clear();
  return {
    ...leader,
    memory,
    queues: createQueues(copied),
    ownDeletes: new Set(leader.ownDeletes),
  };
}

function copyOfQueue({ waiting, working, failures, instants, retries }: QueueState): QueueState {
  return {
    waiting: new Map(waiting),
    working: new Map(working),
    failures: new Map(failures),
    instants: new Map(instants),
    retries: new Map(retries),
  };
}

/** A copy of a reconcile that may go on, with the same plan. */
export function copyOfAttempt(attempt: ReconcileAttempt): ReconcileAttempt {
  return {
    ...attempt,
    answers: new Map(attempt.answers),
    slots: attempt.slots.map((slot) => ({ ...slot })),
    written: new Map(attempt.written),
  };
}

/** What decisions of src do with a queue at `now`. */
export function keyQueueOf(state: QueueState, now: number): KeyQueue {
  return {
    add: (key, urgency) => void addKey(state, key, urgency, now),
    addAt: (key, at) => void addKeyAt(state, key, at),
    retry: (key) => void retryKey(state, key, now),
    get depth() {
      return state.waiting.size;
    },
  };
}

/** Ends a reconcile as the loop of src does; the error of a bug, if it ended with one. */
export function endRunning(
  { key, end }: ReconcileAttempt,
  state: QueueState,
  now: number,
): unknown {
  const failed = { monotonic: now, random: 0, atLeastMs: 0 };
  let bug: unknown;
  if (end === undefined || "error" in end) {
    const { error } = end ?? { error: "the reconcile has not ended" };
    if (!isKubeError(error)) bug = error;
    const atLeastMs = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
    addKeyAfterFailure(state, key, { ...failed, atLeastMs });
  } else if (end.result.kind === "requeue-with-backoff") addKeyAfterFailure(state, key, failed);
  else {
    forgetKey(state, key);
    if (end.result.kind === "requeue-at") addKeyAt(state, key, end.result.at);
  }
  doneKey(state, key, now);
  return bug;
}

/** The keys that a worker may get next: those of the highest priority, in any order. */
export function nextKeys({ waiting }: QueueState): readonly string[] {
  for (const priority of priorities) {
    const keys = [...waiting.values()].filter(({ urgency }) => urgency === priority);
    if (keys.length > 0) return keys.map(({ key }) => key);
  }
  return [];
}

/** A key that fails this often is tried once in 50 s until its cause ends: nothing else happens. */
const mostFailures = 13;

/**
 * When the next key is added to a queue, in milliseconds since the epoch; undefined if never.
 * `isIdle` says whether the reconcile of a key would do nothing.
 */
export function nextTime(
  { queues }: Leader,
  isIdle: (name: QueueName, key: string) => boolean,
): number | undefined {
  let next: number | undefined;
  for (const name of queueNames) {
    const { instants, retries, failures } = queues[name];
    for (const [key, at] of instants) if (!isIdle(name, key)) next = Math.min(next ?? at, at);
    for (const [key, at] of retries)
      if ((failures.get(key) ?? 0) <= mostFailures) next = Math.min(next ?? at, at);
  }
  return next;
}

/** The names of all queues. */
export const queueNames = Object.values(createQueues((name) => name));

/** A store that reads from another one, which changes. */
export function facadeOf<T>(current: () => ReadStore<T>): ReadStore<T> {
  return {
    get: (key) => current().get(key),
    has: (key) => current().has(key),
    keys: () => current().keys(),
    values: () => current().values(),
    by: (index, name) => current().by(index, name),
    keysBy: (index, name) => current().keysBy(index, name),
    countBy: (index, name) => current().countBy(index, name),
    sizeBy: (index, name) => current().sizeBy(index, name),
    namesIn: (index) => current().namesIn(index),
    get size() {
      return current().size;
    },
  };
}
