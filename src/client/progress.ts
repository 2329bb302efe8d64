import { sleep } from "../runtime/clock.ts";
import type { CliProcess } from "./cli.ts";

const patienceMs = 1_000;

/** Runs work, and says on a terminal what it waits for if it takes longer than a second. */
export async function withProgress<T>(
  what: string,
  work: () => Promise<T>,
  { terminal, clock }: Pick<CliProcess, "terminal" | "clock">,
): Promise<T> {
  if (!terminal.isError) return work();
  const cancel = clock.wakeAfter(patienceMs, () => terminal.say(`${what} ...`));
  try {
    return await work();
  } finally {
    cancel();
  }
}

const firstPauseMs = 25;
const longestPauseMs = 1_000;

/**
 * Looks until there is a result, with growing pauses; undefined if there is none after the time.
 */
export async function waitUntil<T>(
  look: () => Promise<T | undefined>,
  withinMs: number,
  { clock }: Pick<CliProcess, "clock">,
): Promise<T | undefined> {
  const end = clock.monotonic() + withinMs;
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
    const found = await look();
    if (found !== undefined || clock.monotonic() >= end) return found;
    await sleep(Math.min(pause, Math.max(end - clock.monotonic(), 1)), { clock });
  }
}
