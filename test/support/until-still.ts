import { setTimeout as pause } from "node:timers/promises";

/** How to detect that a system is idle. */
export interface Stillness {
  readonly isQuiet: () => boolean | Promise<boolean>;
  /** The number of successive quiet looks, and the milliseconds between them. */
  readonly looks: number;
  readonly everyMs: number;
  /** The timeout in milliseconds. */
  readonly within: number;
  /** The error message. */
  readonly failure: () => string;
  /** Called after each busy look. */
  readonly onBusy?: () => Promise<void>;
}

/** Looks until it is quiet several times in a row; throws after the timeout. */
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
