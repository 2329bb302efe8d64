import { expect, test } from "vitest";
import { untilStill } from "./until-still.ts";

const failure = () => "it is never quiet";

function looking(answers: readonly boolean[]) {
  const rest = [...answers];
  return { isQuiet: () => rest.shift() ?? true, left: () => rest.length };
}

test("one look at which something is to be done starts the count again", async () => {
  const { isQuiet, left } = looking([true, true, false, true, true, true, true]);
  await untilStill({ isQuiet, looks: 3, everyMs: 0, within: 10_000, failure });
  expect(left()).toBe(1);
});

test("onBusy is called after each look at which something is to be done", async () => {
  let busy = 0;
  const onBusy = async () => void (busy += 1);
  const { isQuiet } = looking([false, true, false]);
  await untilStill({ isQuiet, looks: 2, everyMs: 0, within: 10_000, failure, onBusy });
  expect(busy).toBe(2);
});

test("it fails when the time is over", async () => {
  const isQuiet = () => false;
  await expect(untilStill({ isQuiet, looks: 1, everyMs: 1, within: 5, failure })).rejects.toThrow(
    "it is never quiet",
  );
});
