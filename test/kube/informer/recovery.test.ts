import { expect, test } from "vitest";
import { Recovery } from "../../../src/kube/informer/recovery.ts";
import { settled, TestClock } from "../../support/test-clock.ts";

function pausing(ms: number) {
  const [recovery, clock, stop] = [new Recovery(), new TestClock(), new AbortController()];
  let isOver = false;
  void recovery.pause(ms, { clock, signal: stop.signal }).then(() => (isOver = true));
  return { recovery, clock, stop, isOver: () => isOver };
}

test.for<[string, (setup: ReturnType<typeof pausing>) => unknown]>([
  ["its time has passed", ({ clock }) => clock.run(5_000)],
  ["the API server has recovered", ({ recovery }) => recovery.recovered()],
  ["its signal aborts", ({ stop }) => stop.abort()],
])("a pause ends when %s, and leaves no timer", async ([, end]) => {
  const setup = pausing(5_000);
  await setup.clock.run(4_999);
  expect(setup.isOver()).toBe(false);
  await end(setup);
  await settled();
  expect([setup.isOver(), setup.clock.pending]).toEqual([true, 0]);
});

test("a listener is called at every recovery until it is cancelled", () => {
  const [recovery, calls] = [new Recovery(), new Array<string>()];
  const cancel = recovery.onRecovered(() => calls.push("back"));
  recovery.recovered();
  recovery.recovered();
  cancel();
  recovery.recovered();
  expect(calls).toEqual(["back", "back"]);
});

test("an outage of a second may be a restart, which calls listeners until they cancel", () => {
  const [recovery, calls] = [new Recovery(), new Array<string>()];
  const cancel = recovery.onRestarted(() => calls.push("restarted"));
  for (const awayMs of [undefined, 999, 1_000]) recovery.recovered(awayMs);
  recovery.restarted();
  cancel();
  recovery.restarted();
  expect(calls).toEqual(["restarted", "restarted"]);
});
