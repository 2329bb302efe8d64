import { describe, expect, test } from "vitest";
import type { Condition } from "../../src/api/conditions.ts";
import { objectStates, syncTargetsOf } from "../../src/domain/object-groups.ts";

const condition = (type: string, status: Condition["status"], reason: string): Condition => ({
  type,
  status,
  reason,
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

describe("an object counts", () => {
  test.each<[string, readonly Condition[], ReturnType<typeof objectStates>]>([
    [
      "as Unknown before a controller has set Ready",
      [],
      [{ condition: "Ready", status: "Unknown", reason: "" }],
    ],
    [
      "by Ready and its reason",
      [condition("Ready", "False", "MissingKey"), condition("Active", "False", "MissingKey")],
      [{ condition: "Ready", status: "False", reason: "MissingKey" }],
    ],
    [
      "also by Synced",
      [condition("Synced", "False", "Conflict"), condition("Ready", "True", "Ready")],
      [
        { condition: "Ready", status: "True", reason: "Ready" },
        { condition: "Synced", status: "False", reason: "Conflict" },
      ],
    ],
    [
      "with an empty reason if the reason is unknown",
      [condition("Ready", "True", "toString")],
      [{ condition: "Ready", status: "True", reason: "" }],
    ],
  ])("%s", (_rule, conditions, expected) => {
    expect(objectStates(conditions)).toEqual(expected);
  });
});

test.each([
  [{}, { synced: 0, conflict: 0, failed: 0, pending: 0 }],
  [
    { sync: { desired: 10, synced: 5, conflicts: 2, failed: 1 } },
    { synced: 5, conflict: 2, failed: 1, pending: 2 },
  ],
  [
    { sync: { desired: 1, synced: 5, conflicts: -2 } },
    { synced: 5, conflict: 0, failed: 0, pending: 0 },
  ],
])("counts the targets of %j", (status, expected) => {
  expect(syncTargetsOf(status)).toEqual(expected);
});
