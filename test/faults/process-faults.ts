import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "./faults.ts";
import type { ProcessCall, ProcessRun } from "./process-run.ts";
import type { ProxyAnswer } from "../support/fault-proxy.ts";
import type { LeaseSeconds, Replica } from "./replica.ts";

/** What may happen to a real process at a write. */
export interface ProcessFault extends Pick<Fault, "name" | "allowance"> {
  readonly lease: LeaseSeconds;
  readonly inject: (call: ProcessCall, run: ProcessRun) => Promise<ProxyAnswer | "drop">;
}

const allowance: Fault["allowance"] = { creates: 0, updates: 0, deletes: 0, statuses: 3 };

/** The default ones, which no slow machine loses. */
export const calmLease: LeaseSeconds = { duration: 15, deadline: 10, retry: 2 };

/** A pause is over sooner with short ones. */
const shortLease: LeaseSeconds = { duration: 5, deadline: 3, retry: 1 };

/** Kills, and pauses past the Lease while another process leads. */
export const processFaults: readonly ProcessFault[] = [
  {
    name: "kill-before",
    allowance,
    lease: calmLease,
    async inject({ replica }) {
      await replica.kill();
      return "drop";
    },
  },
  {
    name: "kill-after",
    allowance,
    lease: calmLease,
    async inject({ replica, forward }) {
      await forward();
      await replica.kill();
      return "drop";
    },
  },
  {
    name: "pause-before",
    allowance,
    lease: shortLease,
    async inject({ replica, forward }, run) {
      const { resumed } = await standAside(replica, run);
      // The API server has it only now, when another one leads and has done everything.
      await resumed;
      return forward();
    },
  },
  {
    name: "pause-after",
    allowance,
    lease: shortLease,
    async inject({ replica, forward }, run) {
      await standAside(replica, run);
      return forward();
    },
  },
];

/**
 * Stops the process and has another one lead; answers when it was let go on, which is once
 * everything has come to rest.
 */
async function standAside(
  replica: Replica,
  run: ProcessRun,
): Promise<{ readonly resumed: Promise<void> }> {
  const resumed = Promise.withResolvers<void>();
  const { process } = replica;
  replica.stand();
  const other = run.start("b");
  run.finish = async () => {
    await other;
    const seen = run.logbook.writes.length;
    const dead = replica.controller.exited();
    resumed.resolve();
    replica.goOn();
    const exit = await Promise.race([dead, pause(60_000, undefined, { ref: false })]);
    if (exit?.code !== 1)
      run.mistakes.push(`${process} lost its Lease and ended with ${JSON.stringify(exit)}`);
    const late = run.logbook.writes
      .slice(seen)
      .filter((write) => write.process === process && write.request.plural !== "events");
    run.mistakes.push(
      ...late.map(({ sentence }) => `${process} asked after its Lease: ${sentence}`),
    );
  };
  await other;
  return { resumed: resumed.promise };
}
