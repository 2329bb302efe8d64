import { describe, expect, test } from "vitest";
import {
  recordFailure,
  type FailureHistory,
  type ObservedFailure,
} from "../../../src/domain/plan/failure-history.ts";

type Seen = readonly [atSeconds: number, failure: ObservedFailure];

const began = Date.parse("2026-01-01T00:00:00Z");
const failed = (reason: string, message = "no"): ObservedFailure => ({
  kind: "failed",
  reason,
  message,
});
const refused = (reason: string, message = "no"): ObservedFailure => ({
  kind: "refused",
  reason,
  message,
});

/** What is said after each of these tries, as `<reason> <message>`; `-` is nothing. */
function said(tries: readonly Seen[]): readonly string[] {
  let failing: FailureHistory | undefined;
  return tries.map(([seconds, failure]) => {
    failing = recordFailure(failing, failure, {
      monotonic: 5_000 + seconds * 1000,
      time: began + seconds * 1000,
    });
    return failing.reported === undefined
      ? "-"
      : `${failing.reported.failure.reason} ${failing.reported.failure.message}`;
  });
}

describe("what is said of tries that fail", () => {
  test.each<[string, readonly Seen[], readonly string[]]>([
    ["is nothing of one", [[0, failed("Conflict")]], ["-"]],
    [
      "is nothing before 30 s",
      [
        [0, failed("Conflict")],
        [29.999, failed("Conflict")],
      ],
      ["-", "-"],
    ],
    [
      "is the last of them after 30 s",
      [
        [0, failed("Conflict")],
        [30, failed("Timeout")],
      ],
      ["-", "Timeout no"],
    ],
    ["is a refusal at once", [[0, refused("Forbidden")]], ["Forbidden no"]],
    [
      "is a refusal at once after other failures",
      [
        [0, failed("Conflict")],
        [1, refused("Forbidden")],
      ],
      ["-", "Forbidden no"],
    ],
    [
      "stands when the sentence varies",
      [
        [0, refused("Forbidden", "used 1")],
        [1, refused("Forbidden", "used 2")],
        [599, refused("Forbidden", "used 3")],
      ],
      ["Forbidden used 1", "Forbidden used 1", "Forbidden used 1"],
    ],
    [
      "is brought up to date after ten minutes",
      [
        [0, refused("Forbidden", "used 1")],
        [600, refused("Forbidden", "used 2")],
      ],
      ["Forbidden used 1", "Forbidden used 2"],
    ],
    [
      "gives way to another reason after a minute",
      [
        [0, refused("Forbidden")],
        [59, refused("Invalid")],
        [60, refused("Invalid")],
      ],
      ["Forbidden no", "Forbidden no", "Invalid no"],
    ],
    [
      "changes once a minute when reasons alternate",
      [
        [0, failed("A")],
        [30, failed("A")],
        [50, failed("B")],
        [70, failed("A")],
        [91, failed("B")],
        [100, failed("A")],
      ],
      ["-", "A no", "A no", "A no", "B no", "B no"],
    ],
  ])("%s", (_rule, tries, expected) => {
    expect(said(tries)).toEqual(expected);
  });

  test("names the instant of the first of them, whatever is said", () => {
    const at = (seconds: number) => ({ monotonic: seconds * 1000, time: began + seconds * 1000 });
    const first = recordFailure(undefined, failed("A"), at(0));
    const later = recordFailure(recordFailure(first, failed("A"), at(30)), failed("B"), at(200));
    expect(later.reported?.failure).toEqual({ ...failed("B"), since: began });
  });

  test("is decided by the monotonic clock", () => {
    const first = recordFailure(undefined, failed("A"), { monotonic: 0, time: began });
    expect(
      recordFailure(first, failed("A"), { monotonic: 1_000, time: began + 1e9 }).reported,
    ).toBeUndefined();
  });
});
