import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Condition, ConditionUpdate } from "../../../src/api/conditions.ts";
import {
  mergeConditions,
  stalled,
  timestamp,
  applyFailureSentence,
  withApplyFailure,
  reconciling,
} from "../../../src/domain/plan/conditions.ts";
import type { ReportedFailure } from "../../../src/domain/plan/failure-history.ts";
import { born } from "../../support/observed-objects.ts";

const standing: Condition = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "well",
  observedGeneration: 1,
  lastTransitionTime: "2025-01-01T00:00:00Z",
};
const at = { generation: 2, now: born };
const claim = (type: ConditionUpdate["type"], status: "True" | "False"): ConditionUpdate => ({
  type,
  status,
  reason: "Failed",
  message: "new",
});

describe("conditions", () => {
  test("keep their transition time while the status is the same", () => {
    expect(mergeConditions([standing], [claim("Ready", "True")], at)).toEqual([
      {
        type: "Ready",
        status: "True",
        reason: "Failed",
        message: "new",
        observedGeneration: 2,
        lastTransitionTime: "2025-01-01T00:00:00Z",
      },
    ]);
  });

  test("get a transition time when they are new or their status changes", () => {
    const times = mergeConditions(
      [standing],
      [claim("Ready", "False"), claim("Synced", "True")],
      at,
    ).map(({ lastTransitionTime }) => lastTransitionTime);
    expect(times).toEqual(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"]);
  });

  test("are exactly those of the updates, sorted by type", () => {
    const settled = mergeConditions(
      [standing],
      [claim("Synced", "True"), claim("Active", "True"), claim("Expired", "True")],
      at,
    );
    expect(settled.map(({ type }) => type)).toEqual(["Active", "Expired", "Synced"]);
  });

  test("have messages of at most 1024 characters", () => {
    const [long] = mergeConditions(
      [],
      [{ ...claim("Ready", "True"), message: `${"x".repeat(2000)}: no` }],
      at,
    );
    expect(long?.message).toBe(`${"x".repeat(678)} ... ${"x".repeat(337)}: no`);
    const [fitting] = mergeConditions(
      [],
      [{ ...claim("Ready", "True"), message: "x".repeat(1024) }],
      at,
    );
    expect(fitting?.message).toHaveLength(1024);
  });

  test("do not change if the updates are the same", () => {
    const types = fc.uniqueArray(
      fc.constantFrom<ConditionUpdate["type"]>("Ready", "Synced", "Stalled", "Active"),
    );
    const claims = types.chain((some) =>
      fc.tuple(...some.map((type) => fc.constantFrom(claim(type, "True"), claim(type, "False")))),
    );
    fc.assert(
      fc.property(claims, fc.nat(), (some, later) => {
        const first = mergeConditions([], some, at);
        expect(mergeConditions(first, some, { ...at, now: at.now + later })).toEqual(first);
      }),
    );
  });
});

test("a problem of the spec is not ready and stalled", () => {
  expect(stalled("Expired", "over").map(({ type, status }) => `${type}=${status}`)).toEqual([
    "Ready=False",
    "Stalled=True",
  ]);
});

test("a timestamp has whole seconds and is never rounded up", () => {
  expect(timestamp(born + 999)).toBe("2026-01-01T00:00:00Z");
});

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
