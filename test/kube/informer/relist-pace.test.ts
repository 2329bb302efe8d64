import { expect, test } from "vitest";
import { RelistPace } from "../../../src/kube/informer/relist-pace.ts";

test("a list is due at once if there was none", () => {
  expect(new RelistPace().isDue(0)).toBe(true);
});

test.for<[string, number, number]>([
  ["an immediate list is repeated at once", 0, 0],
  ["a list of 20 ms is repeated after 20 s", 20, 20_000],
  ["a list of 2 s is repeated after 33 minutes", 2_000, 2_000_000],
  ["a list of a minute is repeated after an hour", 60_000, 3_600_000],
])("%s", ([, durationMs, restMs]) => {
  const pace = new RelistPace();
  const endedAt = 500 + durationMs;
  pace.listed(500, endedAt);
  expect(pace.isDue(endedAt + restMs - 1)).toBe(false);
  expect(pace.isDue(endedAt + restMs)).toBe(true);
});
