import type { InProcessRun } from "./in-process-backend.ts";

/** Milliseconds by which the clock of a run is ahead of real time. */
export function clockOf(run: InProcessRun): number {
  return run.backend.ahead;
}

/** Advances the clock of a run, in steps that are shorter than a Lease. */
export async function passTo(run: InProcessRun, clock: number): Promise<void> {
  const jumpMs = 20_000;
  for (let left = clock - clockOf(run); left > 0; left = clock - clockOf(run))
    await run.backend.jump(Math.min(left, jumpMs));
}
