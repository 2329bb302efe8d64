import { expect, test } from "vitest";
import { ExpectedEvents } from "../../../src/kube/informer/expected-events.ts";
import { TestClock } from "../../support/test-clock.ts";

function setup({ heardAt = -Infinity } = {}) {
  const [clock, missing] = [new TestClock(), new Array<string>()];
  return {
    clock,
    missing,
    echoes: new ExpectedEvents({
      clock,
      heardAt: () => heardAt,
      onMissing: (key) => missing.push(key),
    }),
  };
}

test("a write is not missing if its event arrives in time", async () => {
  const { echoes, clock, missing } = setup();
  echoes.expect("a", "8");
  await clock.run(1_999);
  echoes.reached("8");
  await clock.run(10_000);
  expect([missing, clock.pending]).toEqual([[], 0]);
});

test("the oldest of several missing writes is reported, and the newest after it", async () => {
  const { echoes, clock, missing } = setup();
  for (const [key, version] of [
    ["a", "8"],
    ["b", "9"],
    ["c", "10"],
  ] as const)
    echoes.expect(key, version);
  await clock.run(2_000);
  expect(missing).toEqual(["a"]);
  await clock.run(2_000);
  expect([missing, clock.pending]).toEqual([["a", "c"], 0]);
});

test("the newest write has its own timeout after the event of the oldest has arrived", async () => {
  const { echoes, clock, missing } = setup();
  echoes.expect("a", "8");
  await clock.run(1_000);
  echoes.expect("b", "9");
  echoes.reached("8");
  await clock.run(1_000);
  expect(missing).toEqual([]);
  await clock.run(2_000);
  expect(missing).toEqual(["b"]);
});

test("a write is not missing while the watch delivers other events", async () => {
  const { echoes, clock, missing } = setup({ heardAt: 1_900 });
  echoes.expect("a", "8");
  await clock.run(2_000);
  expect([missing, clock.pending]).toEqual([[], 1]);
  await clock.run(2_000);
  expect(missing).toEqual(["a"]);
});

test("stop discards expected events and their timer, and those of later writes", async () => {
  const { echoes, clock, missing } = setup();
  echoes.expect("a", "8");
  echoes.stop();
  // The response to a write may arrive while the process ends.
  echoes.expect("b", "9");
  await clock.run(10_000);
  expect([missing, clock.pending]).toEqual([[], 0]);
});
