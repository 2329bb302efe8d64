import { expect, test } from "vitest";
import { ExpectedEvents } from "../../src/kube/expected-events.ts";
import { TestClock } from "../support/test-clock.ts";

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

test("a write of which the watch tells in time is not missed", async () => {
  const { echoes, clock, missing } = setup();
  echoes.expect("a", "8");
  await clock.run(1_999);
  echoes.reached("8");
  await clock.run(10_000);
  expect([missing, clock.pending]).toEqual([[], 0]);
});

test("the oldest write that is missing stands for those after it, and the newest is missed next", async () => {
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

test("a watch that has told of the oldest is waited for because of the newest", async () => {
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

test("a watch that tells of other things is behind, and nothing is missed", async () => {
  const { echoes, clock, missing } = setup({ heardAt: 1_900 });
  echoes.expect("a", "8");
  await clock.run(2_000);
  expect([missing, clock.pending]).toEqual([[], 1]);
  await clock.run(2_000);
  expect(missing).toEqual(["a"]);
});

test("nothing is expected after the end", async () => {
  const { echoes, clock, missing } = setup();
  echoes.expect("a", "8");
  echoes.stop();
  await clock.run(10_000);
  expect([missing, clock.pending]).toEqual([[], 0]);
});
