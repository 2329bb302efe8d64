import type { Run } from "./run.ts";

/** Milliseconds by which the clock of a run is ahead of real time. */
export function clockOf(run: Run): number {
  return run.now() - performance.now();
}

/** Moves the clock of a run on, in steps that a Lease survives. */
export async function passTo(run: Run, clock: number): Promise<void> {
  const jumpMs = 20_000;
  for (let left = clock - clockOf(run); left > 0; left = clock - clockOf(run))
    await run.jump(Math.min(left, jumpMs));
}
