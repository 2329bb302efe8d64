import { describe, expect, test } from "vitest";
import type { ConditionUpdate } from "../../../src/api/conditions.ts";
import { applyFailureSentence, withApplyFailure } from "../../../src/domain/plan/apply-failure.ts";
import { reconciling, stalled } from "../../../src/domain/plan/conditions.ts";
import type { ReportedFailure } from "../../../src/domain/plan/failure-history.ts";

const failure: ReportedFailure = {
  kind: "failed",
  reason: "InternalError",
  message: "POST /x: 500 no room",
  since: Date.parse("2026-01-01T00:00:00Z"),
};
const ready: ConditionUpdate = {
  type: "Ready",
  status: "True",
  reason: "Active",
  message: "The key is accepted.",
};
const active: ConditionUpdate = {
  type: "Active",
  status: "True",
  reason: "Active",
  message: "The key is accepted.",
};
const short = (claims: readonly ConditionUpdate[]) =>
  claims.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

describe("a failure to apply an object", () => {
  test.each<[string, readonly ConditionUpdate[], readonly string[]]>([
    [
      "makes a ready object not ready and reconciling",
      [ready, active],
      ["Ready False ApplyFailed", "Reconciling True ApplyFailed", "Active True Active"],
    ],
    [
      "replaces the reason of an object that waits",
      reconciling("WaitingForGrant", "Waiting."),
      ["Ready False ApplyFailed", "Reconciling True ApplyFailed"],
    ],
    [
      "keeps the reason of a stalled object",
      stalled("MissingKey", "No key."),
      ["Ready False MissingKey", "Stalled True MissingKey"],
    ],
  ])("%s", (_rule, claims, expected) => {
    expect(short(withApplyFailure(claims, failure))).toEqual(expected);
    const messages = withApplyFailure(claims, failure)
      .filter(({ type }) => type !== "Active")
      .map(({ message }) => message);
    expect(
      messages.filter(
        (message) => !message.includes("failed since 2026-01-01T00:00:00Z: POST /x: 500 no room."),
      ),
    ).toEqual([]);
  });

  test("changes nothing if there is none", () => {
    expect(withApplyFailure([ready, active], undefined)).toEqual([ready, active]);
  });

  test("says what to do, even if the error is long", () => {
    const sentence = applyFailureSentence({ ...failure, message: "x".repeat(5000) });
    expect(sentence.length).toBeLessThan(900);
    expect(sentence).toContain("at least once a minute");
  });
});
