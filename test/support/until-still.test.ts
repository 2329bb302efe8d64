import { expect, test } from "vitest";
import { untilStill } from "./until-still.ts";

const failure = () => "it is never quiet";

function looking(answers: readonly boolean[]) {
  const rest = [...answers];
  return { isQuiet: () => rest.shift() ?? true, left: () => rest.length };
}

test("starts to count again after a busy look", async () => {
  const { isQuiet, left } = looking([true, true, false, true, true, true, true]);
  await untilStill({ isQuiet, looks: 3, everyMs: 0, within: 10_000, failure });
  expect(left()).toBe(1);
});

test("calls onBusy after each busy look", async () => {
  let busy = 0;
  const onBusy = async () => void (busy += 1);
  const { isQuiet } = looking([false, true, false]);
  await untilStill({ isQuiet, looks: 2, everyMs: 0, within: 10_000, failure, onBusy });
  expect(busy).toBe(2);
});

test("fails after the timeout", async () => {
  const isQuiet = () => false;
  await expect(untilStill({ isQuiet, looks: 1, everyMs: 1, within: 5, failure })).rejects.toThrow(
    "it is never quiet",
  );
});
