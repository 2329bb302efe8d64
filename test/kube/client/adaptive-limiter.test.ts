import { expect, test } from "vitest";
import { AdaptiveLimiter } from "../../../src/kube/client/adaptive-limiter.ts";
import { settled, TestClock } from "../../support/test-clock.ts";

/**
 * Calls that run until they leave; one that leaves with a number has that Retry-After in
 * milliseconds.
 */
function visitors(limit: number, count: number) {
  const clock = new TestClock();
  const limits: number[] = [];
  const gate = new AdaptiveLimiter<number | undefined>({
    limit,
    clock,
    retryAfter: (ms) => ms,
    onLimit: (now) => limits.push(now),
  });
  const inside: number[] = [];
  const out = new Map<number, PromiseWithResolvers<number | undefined>>();
  const visits = Array.from({ length: count }, (_, visitor) =>
    gate.run(() => {
      inside.push(visitor);
      const leaving = Promise.withResolvers<number | undefined>();
      out.set(visitor, leaving);
      return leaving.promise;
    }),
  );
  const leave = async (visitor: number, ms?: number) => {
    out.get(visitor)?.resolve(ms);
    await settled();
  };
  return {
    clock,
    limits,
    inside,
    leave,
    visits,
    fail: (visitor: number, error: Error) => out.get(visitor)?.reject(error),
  };
}

test("runs at most `limit` calls, and the others in FIFO order", async () => {
  const { inside, leave, visits } = visitors(2, 5);
  await settled();
  expect(inside).toEqual([0, 1]);
  await leave(1);
  expect(inside).toEqual([0, 1, 2]);
  for (const visitor of [0, 2, 3, 4]) await leave(visitor);
  await Promise.all(visits);
  expect(inside).toEqual([0, 1, 2, 3, 4]);
});

test("starts the next call after a failure", async () => {
  const { inside, leave, visits, fail } = visitors(1, 2);
  await settled();
  fail(0, new Error("no"));
  await expect(visits[0]).rejects.toThrow("no");
  await settled();
  expect(inside).toEqual([0, 1]);
  await leave(1);
  await visits[1];
});

test("halves the limit after a Retry-After", async () => {
  const { inside, leave, limits } = visitors(8, 12);
  await settled();
  await leave(0, 1_000);
  for (const visitor of [1, 2, 3]) await leave(visitor, 1_000);
  expect([limits, inside.length]).toEqual([[4], 8]);
  await leave(4);
  expect([limits, inside.length]).toEqual([[4], 9]);
});

test("decreases the limit once for calls that started before the decrease", async () => {
  const { leave, limits } = visitors(8, 8);
  await settled();
  for (let visitor = 0; visitor < 8; visitor += 1) await leave(visitor, 1_000);
  expect(limits).toEqual([4]);
});

test("raises the limit by one after as many successes as it permits calls, up to the maximum", async () => {
  const { leave, limits } = visitors(4, 40);
  await settled();
  await leave(0, 1_000);
  for (let visitor = 1; visitor < 20; visitor += 1) await leave(visitor);
  expect(limits).toEqual([2, 3, 4]);
});

test("pauses all calls for a Retry-After at a limit of 1", async () => {
  const { clock, inside, leave } = visitors(1, 3);
  await settled();
  await leave(0, 3_000);
  clock.advance(2_999);
  await settled();
  expect(inside).toEqual([0]);
  clock.advance(1);
  await settled();
  expect(inside).toEqual([0, 1]);
  await leave(1);
  expect(inside).toEqual([0, 1, 2]);
});
