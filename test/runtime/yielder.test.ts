import { describe, expect, test } from "vitest";
import { Yielder } from "../../src/runtime/yielder.ts";

/** A clock that advances by `stepMs` at each read. */
const stepping = (stepMs: number) => {
  let now = 0;
  return { monotonic: () => (now += stepMs) };
};

/** Records what happens, and when timers and sockets next run. */
function noting() {
  const order: string[] = [];
  const other = new Promise<void>((resolve) => {
    setImmediate(() => {
      order.push("other");
      resolve();
    });
  });
  return { order, other };
}

describe("forEach", () => {
  test.each([
    { rule: "yields after each item that takes long", stepMs: 10, seen: ["a", "other", "b", "c"] },
    { rule: "does not yield while items are quick", stepMs: 0, seen: ["a", "b", "c", "other"] },
  ])("$rule", async ({ stepMs, seen }) => {
    const { order, other } = noting();
    await new Yielder(stepping(stepMs)).forEach(["a", "b", "c"], (item) => void order.push(item));
    await other;
    expect(order).toEqual(seen);
  });
});

/** A yielder, and the milliseconds that work spends in each turn of the event loop until `stop`. */
function countingTurns() {
  let [now, isStopped] = [0, false];
  const perTurn = [0];
  const tick = (): void => {
    perTurn.push(0);
    if (!isStopped) setImmediate(tick);
  };
  setImmediate(tick);
  const spend = (ms: number): void => {
    now += ms;
    perTurn.push((perTurn.pop() ?? 0) + ms);
  };
  const yielder = new Yielder({ monotonic: () => now });
  return { yielder, perTurn, spend, stop: () => void (isStopped = true) };
}

test("all work of a process shares one turn", async () => {
  const { yielder, perTurn, spend, stop } = countingTurns();
  const worker = async (): Promise<void> => {
    for (let piece = 0; piece < 40; piece++) {
      spend(1);
      await yielder.yieldIfDue();
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  stop();
  // Ten pieces of 1 ms, and one piece of each worker that finds the turn over.
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(14);
  expect(perTurn.reduce((sum, count) => sum + count, 0)).toBe(160);
});

test("run spreads waiting work over turns", async () => {
  const { yielder, perTurn, spend, stop } = countingTurns();
  await Promise.all(Array.from({ length: 16 }, () => yielder.run(() => spend(5))));
  stop();
  expect(Math.max(...perTurn)).toBe(10);
  expect(perTurn.reduce((sum, ms) => sum + ms, 0)).toBe(80);
});
