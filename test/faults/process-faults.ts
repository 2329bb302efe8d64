import { setTimeout as pause } from "node:timers/promises";
import { type Fault, once, usualAllowance } from "./fault.ts";
import type { ProcessBackend, ProcessRun } from "./process-backend.ts";
import type { LeaseSeconds, ProcessInstance } from "./process-instance.ts";

/** A fault of a real process at a write. */
export interface ProcessFault extends Fault<ProcessBackend> {
  readonly lease: LeaseSeconds;
}

const atCalls = { moments: ["call"], allowance: usualAllowance } as const;

/** The default times, with which a slow machine does not lose the Lease. */
export const calmLease: LeaseSeconds = { duration: 15, deadline: 10, retry: 2 };

/** A pause takes less time with short ones. */
const shortLease: LeaseSeconds = { duration: 5, deadline: 3, retry: 1 };

/** Kills, and pauses longer than the Lease while another process leads. */
export const processFaults: readonly ProcessFault[] = [
  {
    ...atCalls,
    name: "kill-before",
    lease: calmLease,
    async call({ instance }) {
      await instance.kill();
      return "drop";
    },
  },
  {
    ...atCalls,
    name: "kill-after",
    lease: calmLease,
    async call({ instance, forward }) {
      await forward();
      await instance.kill();
      return "drop";
    },
  },
  {
    ...atCalls,
    name: "pause-before",
    lease: shortLease,
    async call({ instance, forward }, run) {
      const { resumed } = await pauseUntilSettled(instance, run);
      // The API server receives it only now, when another process leads and has done all work.
      await resumed;
      return forward();
    },
  },
  {
    ...atCalls,
    name: "pause-after",
    lease: shortLease,
    async call({ instance, forward }, run) {
      await pauseUntilSettled(instance, run);
      return forward();
    },
  },
];

/**
 * Pauses the process and lets another one lead; returns a promise of its resumption, which follows
 * when the system is idle.
 */
async function pauseUntilSettled(
  instance: ProcessInstance,
  run: ProcessRun,
): Promise<{ readonly resumed: Promise<void> }> {
  const resumed = Promise.withResolvers<void>();
  const { process } = instance;
  instance.pause();
  const other = run.backend.start({ program: "controller", identity: "b" });
  const finish = once(async () => {
    await other;
    const seen = run.logbook.writes.length;
    const dead = instance.controller.exited();
    resumed.resolve();
    instance.resume();
    const exit = await Promise.race([dead, pause(60_000, undefined, { ref: false })]);
    if (exit?.code !== 1)
      run.mistakes.push(`${process} lost its Lease and ended with ${JSON.stringify(exit)}`);
    const late = run.logbook.writes
      .slice(seen)
      .filter((write) => write.process === process && write.request.plural !== "events");
    run.mistakes.push(
      ...late.map(({ sentence }) => `${process} asked after its Lease: ${sentence}`),
    );
  });
  run.activate({ finish });
  await other;
  return { resumed: resumed.promise };
}
