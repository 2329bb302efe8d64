import { describe, expect, test } from "vitest";
import { ResourceVersionTracker } from "../../../src/kube/informer/resource-version-tracker.ts";

function followed(...versions: readonly string[]): ResourceVersionTracker {
  const history = new ResourceVersionTracker("pods");
  for (const version of versions) history.reached(version);
  return history;
}

describe("a list", () => {
  test("sets the first resourceVersion", () => {
    const history = followed();
    expect([history.listed("7"), history.resourceVersion]).toEqual([false, "7"]);
  });

  test("that is older throws twice, and is accepted the third time in a row", () => {
    const history = followed("70");
    for (const version of ["8", "9"])
      expect(() => history.listed(version)).toThrow(
        `pods: resourceVersion ${version} is older than 70, which was observed before`,
      );
    expect([history.resourceVersion, history.listed("9"), history.resourceVersion]).toEqual([
      "70",
      true,
      "9",
    ]);
  });

  test("that is newer resets the count of older lists", () => {
    const history = followed("70");
    expect(() => history.listed("9")).toThrow("older");
    expect(history.listed("71")).toBe(false);
    expect(() => history.listed("9")).toThrow("older");
    expect(() => history.listed("9")).toThrow("older");
  });
});

test("a bookmark that is older throws Gone", () => {
  const history = followed("70");
  expect(() => history.bookmarked("8")).toThrow(expect.objectContaining({ code: "Gone" }));
  history.bookmarked("71");
  history.bookmarked(undefined);
  expect(history.resourceVersion).toBe("71");
});
