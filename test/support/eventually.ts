import { setTimeout as pause } from "node:timers/promises";

/** How long to wait for a condition, and its description for the error message. */
export interface Patience {
  /** Milliseconds; 150,000 by default, for a machine with much else to do. */
  within?: number;
  /** Milliseconds between two attempts; by default from 100 to 1,000, more after each attempt. */
  every?: number;
  /** Completes the sentence "waited 60 s for ...". */
  what: string;
}

/** Calls `look` until it returns something other than undefined or false; throws its last error. */
export async function eventually<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
  { within = 150_000, every, what }: Patience,
): Promise<T> {
  const deadline = Date.now() + within;
  for (let delay = every ?? 100; ; delay = every ?? Math.min(1_000, delay * 1.5)) {
    const seen = await attempt(look);
    if ("value" in seen) return seen.value;
    if (Date.now() >= deadline)
      throw new Error(`waited ${within / 1000} s for ${what}`, { cause: seen.error });
    await pause(delay);
  }
}

/**
 * Waits for the next second: an object that is created then is newer than those that exist, because
 * creation times have whole seconds.
 */
export async function nextSecond(): Promise<void> {
  const from = Math.floor(Date.now() / 1000);
  await eventually(() => Math.floor(Date.now() / 1000) > from, { what: "the next second" });
}

async function attempt<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<{ value: T } | { error: unknown }> {
  try {
    const value = await look();
    return value === undefined || value === false ? { error: undefined } : { value };
  } catch (error) {
    return { error };
  }
}
