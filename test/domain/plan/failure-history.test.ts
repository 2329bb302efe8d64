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

/** The reported failure after each of these attempts, as `<reason> <message>`; `-` for none. */
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

describe("the reported failure", () => {
  test.each<[string, readonly Seen[], readonly string[]]>([
    ["is none after one failure", [[0, failed("Conflict")]], ["-"]],
    [
      "is none before 30 s",
      [
        [0, failed("Conflict")],
        [29.999, failed("Conflict")],
      ],
      ["-", "-"],
    ],
    [
      "is the last one after 30 s",
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
      "is kept if only the message varies",
      [
        [0, refused("Forbidden", "used 1")],
        [1, refused("Forbidden", "used 2")],
        [599, refused("Forbidden", "used 3")],
      ],
      ["Forbidden used 1", "Forbidden used 1", "Forbidden used 1"],
    ],
    [
      "is updated after ten minutes",
      [
        [0, refused("Forbidden", "used 1")],
        [600, refused("Forbidden", "used 2")],
      ],
      ["Forbidden used 1", "Forbidden used 2"],
    ],
    [
      "is replaced by another reason after a minute",
      [
        [0, refused("Forbidden")],
        [59, refused("Invalid")],
        [60, refused("Invalid")],
      ],
      ["Forbidden no", "Forbidden no", "Invalid no"],
    ],
    [
      "changes once a minute if reasons alternate",
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

  test("contains the instant of the first failure", () => {
    const at = (seconds: number) => ({ monotonic: seconds * 1000, time: began + seconds * 1000 });
    const first = recordFailure(undefined, failed("A"), at(0));
    const later = recordFailure(recordFailure(first, failed("A"), at(30)), failed("B"), at(200));
    expect(later.reported?.failure).toEqual({ ...failed("B"), since: began });
  });

  test("depends on the monotonic clock", () => {
    const first = recordFailure(undefined, failed("A"), { monotonic: 0, time: began });
    expect(
      recordFailure(first, failed("A"), { monotonic: 1_000, time: began + 1e9 }).reported,
    ).toBeUndefined();
  });
});
