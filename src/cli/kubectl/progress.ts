import { type Clock, sleep } from "../../runtime/clock.ts";
import type { Terminal } from "./terminal.ts";

/** Dependencies of {@link withProgress}. */
interface ProgressDeps {
  readonly terminal: Pick<Terminal, "say" | "isError">;
  readonly clock: Pick<Clock, "wakeAfter">;
}

const patienceMs = 1_000;

/** Runs work, and says on a terminal what it waits for if it takes longer than a second. */
export async function withProgress<T>(
  what: string,
  work: () => Promise<T>,
  { terminal, clock }: ProgressDeps,
): Promise<T> {
  if (!terminal.isError) return work();
  const cancel = clock.wakeAfter(patienceMs, () => terminal.say(`${what} ...`));
  try {
    return await work();
  } finally {
    cancel();
  }
}

/** Dependencies of {@link waitUntil}. */
interface WaitDeps {
  readonly clock: Pick<Clock, "monotonic" | "wakeAfter">;
}

const firstPauseMs = 25;
const longestPauseMs = 1_000;

/**
 * Looks until there is a result, with growing pauses; undefined if there is none after the time.
 */
export async function waitUntil<T>(
  look: () => Promise<T | undefined>,
  withinMs: number,
  { clock }: WaitDeps,
): Promise<T | undefined> {
  const end = clock.monotonic() + withinMs;
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
    const found = await look();
    if (found !== undefined || clock.monotonic() >= end) return found;
    await sleep(Math.min(pause, Math.max(end - clock.monotonic(), 1)), { clock });
  }
}
