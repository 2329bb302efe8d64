import { setTimeout as pause } from "node:timers/promises";

/** How to find out that nothing is to be done. */
export interface Stillness {
  readonly isQuiet: () => boolean | Promise<boolean>;
  /** How many times in a row it must be quiet, and how many milliseconds apart. */
  readonly looks: number;
  readonly everyMs: number;
  /** Milliseconds until waiting fails. */
  readonly within: number;
  /** What the failure says. */
  readonly failure: () => string;
  /** Called after each look at which something was to be done. */
  readonly onBusy?: () => Promise<void>;
}

/** Looks until it is quiet several times in a row; throws when that takes too long. */
export async function untilStill({
  isQuiet,
  looks,
  everyMs,
  within,
  failure,
  onBusy,
}: Stillness): Promise<void> {
  const deadline = performance.now() + within;
  for (let quiet = 0; quiet < looks;) {
    if (performance.now() > deadline) throw new Error(failure());
    await pause(everyMs);
    if (await isQuiet()) quiet += 1;
    else {
      quiet = 0;
      await onBusy?.();
    }
  }
}
