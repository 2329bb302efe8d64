import { expect, test } from "vitest";
import { processorSecondsIn } from "./processor-time.ts";

test.each(["node", "a (b) c"])("user and system time of the program %s are added", (name) => {
  const stat = `42 (${name}) S 1 42 42 0 -1 4194560 900 0 1 0 250 50 7 8 20 0 11 0 12345 1 2\n`;
  expect(processorSecondsIn(stat)).toBe(3);
});
