import { expect, test } from "vitest";
import { sleep } from "../../src/runtime/clock.ts";
import { settled, TestClock } from "../support/test-clock.ts";

test("a sleep ends at its time, and leaves no timer", async () => {
  const clock = new TestClock();
  let awake = false;
  void sleep(100, { clock }).then(() => (awake = true));
  await clock.run(99);
  expect(awake).toBe(false);
  await clock.run(1);
  expect([awake, clock.pending]).toEqual([true, 0]);
});

test("an aborted signal ends a sleep at once", async () => {
  const clock = new TestClock();
  const stop = new AbortController();
  const asleep = sleep(100, { clock, signal: stop.signal });
  stop.abort();
  await asleep;
  await sleep(100, { clock, signal: stop.signal });
  expect(clock.pending).toBe(0);
});

test("the test clock ends sleeps in the order of their times", async () => {
  const clock = new TestClock(1000);
  const seen: number[] = [];
  for (const ms of [30, 10, 20]) clock.wakeAfter(ms, () => seen.push(clock.now()));
  clock.wakeAfter(10, () => clock.wakeAfter(5, () => seen.push(clock.now())));
  expect(clock.untilNext).toBe(10);
  clock.stepWallClock(-500);
  clock.advance(100);
  await settled();
  expect(seen).toEqual([510, 515, 520, 530]);
  expect(clock.now()).toBe(600);
});
