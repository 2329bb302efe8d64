import type { Key } from "../../api/object.ts";

/** From the highest to the lowest. */
export const priorities = ["high", "normal", "low", "last"] as const;

/**
 * High: the object itself changed, or its scheduled time has come. Normal: after another change,
 * something must be created or deleted. Low: existing objects may need an update (first list,
 * resync, fan-out). Last: what somebody changes again and again, for which nobody else waits.
 */
export type Priority = (typeof priorities)[number];

/** A key that waits for a worker; its record is replaced when it moves up. */
export interface Item {
  readonly key: Key;
  readonly urgency: Priority;
  /** When the key was first added (monotonic). */
  readonly since: number;
}

/** A key in process. */
export interface Work {
  /** When it began (monotonic). */
  readonly since: number;
  /** The priority of an `addKey` meanwhile. */
  readonly urgency: Priority | undefined;
}

/** What a work queue knows of its keys: plain data, which the functions of this file change. */
export interface QueueState {
  readonly waiting: Map<Key, Item>;
  readonly working: Map<Key, Work>;
  /** Failures since the last success. */
  readonly failures: Map<Key, number>;
  /** When a key is added next, in milliseconds since the epoch. */
  readonly instants: Map<Key, number>;
  /** When a failed key is added again (monotonic). */
  readonly retries: Map<Key, number>;
}

/**
 * First and longest wait after a failure, in milliseconds, before jitter. The first is client-go's.
 * The longest is not client-go's 1,000 s, so that a write is retried within a minute after its
 * cause of failure is gone.
 */
const backoff = { first: 5, longest: 50_000, jitter: 0.2 } as const;

/** Maximum failure count after {@link retryKey}: the next failure waits 0.64 s. */
const easedFailures = 7;

/** The state of a queue without keys. */
export function emptyQueue(): QueueState {
  return {
    waiting: new Map(),
    working: new Map(),
    failures: new Map(),
    instants: new Map(),
    retries: new Map(),
  };
}

/**
 * Adds `key` at `now` (monotonic) and returns its item if it is new or moves up. A key in process
 * waits for {@link doneKey}.
 */
export function addKey(
  { waiting, working }: QueueState,
  key: Key,
  urgency: Priority,
  now: number,
): Item | undefined {
  const work = working.get(key);
  if (work !== undefined) {
    working.set(key, { since: work.since, urgency: moreUrgent(work.urgency, urgency) });
    return undefined;
  }
  const existing = waiting.get(key);
  if (existing !== undefined && moreUrgent(existing.urgency, urgency) === existing.urgency)
    return undefined;
  const item = { key, urgency, since: existing?.since ?? now };
  waiting.set(key, item);
  return item;
}

/**
 * Schedules `key` for `at`, in milliseconds since the epoch; false if it has an earlier time, which
 * applies.
 */
export function addKeyAt({ instants }: QueueState, key: Key, at: number): boolean {
  return setEarlier(instants, key, at);
}

/**
 * Counts a failure of `key` and schedules its retry after the back-off: 5 ms, doubled with each
 * failure up to 50 s, and at least `atLeastMs`; plus jitter of up to 20%, by `random` in [0, 1).
 * False if its retry has an earlier time, which applies.
 */
export function addKeyAfterFailure(
  { failures, retries }: QueueState,
  key: Key,
  { monotonic, random, atLeastMs }: Readonly<Record<"monotonic" | "random" | "atLeastMs", number>>,
): boolean {
  const count = failures.get(key) ?? 0;
  failures.set(key, count + 1);
  const wait = Math.max(Math.min(backoff.first * 2 ** count, backoff.longest), atLeastMs);
  return setEarlier(retries, key, monotonic + wait * (1 + backoff.jitter * random));
}

/** The keys of `instants` or `retries` whose time has come. */
export function dueKeys(times: ReadonlyMap<Key, number>, now: number): readonly Key[] {
  return [...times].filter(([, at]) => at <= now).map(([key]) => key);
}

/** Adds `key`, whose time in `times` (`instants` or `retries`) has come. */
export function wakeKey(
  state: QueueState,
  times: "instants" | "retries",
  { key, urgency }: Pick<Item, "key" | "urgency">,
  now: number,
): Item | undefined {
  state[times].delete(key);
  return addKey(state, key, urgency, now);
}

/** Adds a failed `key`, because the cause may be gone, and again within a second if it fails. */
export function retryKey(state: QueueState, key: Key, now: number): Item | undefined {
  const count = state.failures.get(key) ?? 0;
  if (count > easedFailures) state.failures.set(key, easedFailures);
  return addKey(state, key, "high", now);
}

/** Adds a `key` that waits after a failure and resets its back-off: the cause is gone. */
export function recoverKey(state: QueueState, key: Key, now: number): Item | undefined {
  state.retries.delete(key);
  forgetKey(state, key);
  return addKey(state, key, "normal", now);
}

/** Resets the back-off of `key` after a success: its next failure waits 5 ms. */
export function forgetKey({ failures }: QueueState, key: Key): void {
  failures.delete(key);
}

/**
 * Begins the processing of a waiting `key`. Its scheduled time is discarded: the reconcile that
 * starts now returns a new one.
 */
export function takeKey({ waiting, instants, working }: QueueState, key: Key, now: number): void {
  waiting.delete(key);
  instants.delete(key);
  working.set(key, { since: now, urgency: undefined });
}

/** Ends the processing of `key` and adds it again if it was added meanwhile. */
export function doneKey(state: QueueState, key: Key, now: number): Item | undefined {
  const urgency = state.working.get(key)?.urgency;
  state.working.delete(key);
  return urgency === undefined ? undefined : addKey(state, key, urgency, now);
}

/** Drops all keys except those in process, which are not added again. */
export function dropKeys({ waiting, working, instants, retries }: QueueState): void {
  for (const keys of [waiting, instants, retries]) keys.clear();
  for (const [key, { since }] of working) working.set(key, { since, urgency: undefined });
}

function setEarlier(times: Map<Key, number>, key: Key, at: number): boolean {
  const earlier = at < (times.get(key) ?? Infinity);
  if (earlier) times.set(key, at);
  return earlier;
}

function moreUrgent(existing: Priority | undefined, added: Priority): Priority {
  return priorities.find((urgency) => urgency === existing || urgency === added) ?? added;
}
