import { expect, test } from "vitest";
import { TimeShare } from "../../src/runtime/time-share.ts";
import { settled, TestClock } from "../support/test-clock.ts";

/** A share of a tenth with 250 ms saved up, and work that takes as long as it says. */
function tenth() {
  const clock = new TestClock();
  const share = new TimeShare({ share: 0.1, savedMs: 250 }, clock);
  const work = (ms: number): void => share.timed(() => clock.advance(ms));
  let caughtUp = 0;
  const wait = (signal?: AbortSignal): void =>
    void share.caughtUp(signal).then(() => (caughtUp += 1));
  return { clock, share, work, wait, caughtUp: () => caughtUp };
}

test("work within what is saved up waits for nothing", async () => {
  const { share, work, wait, caughtUp } = tenth();
  work(200);
  wait();
  await settled();
  expect([caughtUp(), share.isExceeded]).toEqual([1, false]);
});

test("work beyond it waits until a tenth of the time has paid for it", async () => {
  const { clock, share, work, wait, caughtUp } = tenth();
  work(350);
  wait();
  await clock.run(999);
  expect(caughtUp()).toBe(0);
  await clock.run(1);
  expect([caughtUp(), share.isExceeded]).toEqual([1, false]);
});

test("no more is saved up than the maximum, however long nothing arrives", async () => {
  const { clock, work, wait, caughtUp } = tenth();
  await clock.run(3_600_000);
  work(260);
  wait();
  await clock.run(99);
  expect(caughtUp()).toBe(0);
  await clock.run(1);
  expect(caughtUp()).toBe(1);
});

test("over a minute of work as fast as it may, a tenth of the time is used", async () => {
  const { clock, share, work } = tenth();
  let worked = 0;
  const stop = new AbortController();
  const flood = (async () => {
    while (!stop.signal.aborted) {
      work(20);
      worked += 20;
      await share.caughtUp(stop.signal);
    }
  })();
  await clock.run(60_000);
  stop.abort();
  await flood;
  expect(worked).toBeGreaterThan(0.09 * clock.monotonic());
  expect(worked).toBeLessThan(0.1 * clock.monotonic() + 250 + 40);
});

test("an aborted signal ends the wait, and leaves no timer", async () => {
  const { clock, work, wait, caughtUp } = tenth();
  const stop = new AbortController();
  work(10_000);
  wait(stop.signal);
  stop.abort();
  await settled();
  expect([caughtUp(), clock.pending]).toEqual([1, 0]);
});

test("work that throws counts", async () => {
  const { clock, share, wait, caughtUp } = tenth();
  const failing = (): never =>
    share.timed(() => {
      clock.advance(1_000);
      throw new RangeError("bad event");
    });
  expect(failing).toThrow("bad event");
  wait();
  await clock.run(7_000);
  expect(caughtUp()).toBe(0);
});

test("half a minute of pauses is said, until a minute has passed without one", async () => {
  const { clock, share, work } = tenth();
  const flood = async (ms: number): Promise<void> => {
    const end = clock.monotonic() + ms;
    const flooding = (async () => {
      while (clock.monotonic() < end) {
        work(100);
        await share.caughtUp();
      }
    })();
    await clock.run(ms + 5_000);
    await flooding;
  };
  await flood(20_000);
  expect(share.isExceeded).toBe(false);
  await flood(20_000);
  expect(share.isExceeded).toBe(true);
  await clock.run(60_000);
  expect(share.isExceeded).toBe(false);
  await flood(20_000);
  expect(share.isExceeded).toBe(false);
});

test("one long pause, such as after the first list of a large cluster, is said if it lasts", async () => {
  const { clock, share, work, wait } = tenth();
  work(1_250);
  wait();
  await clock.run(10_000);
  expect(share.isExceeded).toBe(false);
});
