import { describe, expect, test } from "vitest";
import type { Condition } from "../../src/api/conditions.ts";
import {
  countedConditions,
  objectState,
  readyOf,
  targetCounts,
  targetsText,
} from "../../src/domain/object-state.ts";

const condition = (type: string, status: Condition["status"], reason: string): Condition => ({
  type,
  status,
  reason,
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

describe("an object counts", () => {
  test.each<[string, readonly Condition[], ReturnType<typeof countedConditions>]>([
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
      "also by ClustersSynced",
      [condition("ClustersSynced", "False", "Failed"), condition("Ready", "True", "Ready")],
      [
        { condition: "Ready", status: "True", reason: "Ready" },
        { condition: "ClustersSynced", status: "False", reason: "Failed" },
      ],
    ],
    [
      "with an empty reason if the reason is unknown",
      [condition("Ready", "True", "toString")],
      [{ condition: "Ready", status: "True", reason: "" }],
    ],
  ])("%s", (_rule, conditions, expected) => {
    expect(countedConditions(conditions)).toEqual(expected);
  });
});

test.each([
  [{}, { synced: 0, conflict: 0, failed: 0, pending: 0, unremoved: 0 }],
  [
    { sync: { desired: 10, synced: 5, conflicts: 2, failed: 1, unremoved: 3 } },
    { synced: 5, conflict: 2, failed: 1, pending: 2, unremoved: 3 },
  ],
  [
    { sync: { desired: 1, synced: 5, conflicts: -2 } },
    { synced: 5, conflict: 0, failed: 0, pending: 0, unremoved: 0 },
  ],
])("counts the targets of %j", (status, expected) => {
  expect(targetCounts(status)).toEqual(expected);
});

test.each<[object, string, string | undefined]>([
  [{}, "not seen by the controller", undefined],
  [{}, "not synced to a project", "NotRequested"],
  [{}, "not synced to a project", "UnknownAnnotation"],
  [{}, "no targets", "NoTargets"],
  [{}, "no targets", "Paused"],
  [
    { desired: 10, synced: 5, conflicts: 2, failed: 1, unremoved: 3 },
    "5 of 10 targets synced, 2 conflict, 1 failed, 2 pending, 3 unremoved",
    "RemovalBlocked",
  ],
  [{ unremoved: 1 }, "1 unremoved", "RemovalBlocked"],
  [{ clusterCounts: { named: 1, synced: 1 } }, "1 of 1 cluster synced", "Synced"],
  [
    { desired: 1, synced: 1, clusterCounts: { named: 3, synced: 1 } },
    "1 of 1 targets synced, 1 of 3 clusters synced",
    "Synced",
  ],
])("says the targets of %j as %s, with the reason %s", (sync, text, reason) => {
  const conditions = reason === undefined ? [] : [condition("Synced", "False", reason)];
  expect(targetsText({ sync, conditions })).toBe(text);
});

describe("an object is", () => {
  const active = condition("Ready", "True", "Active");
  const invalid = condition("Ready", "False", "InvalidScope");
  const expired = condition("Ready", "False", "Expired");
  const expiring = condition("Expiring", "True", "Expiring");
  test.each<[string, readonly Condition[], Parameters<typeof objectState>[1], string]>([
    ["unknown without conditions", [], {}, "unknown NotObserved"],
    ["unknown if Ready is", [condition("Ready", "Unknown", "Foreign")], {}, "unknown NotObserved"],
    [
      "unknown before its generation is observed",
      [active],
      { isObserved: false },
      "unknown NotObserved",
    ],
    ["ready", [active, condition("Expiring", "False", "NotExpiring")], {}, "ok Active"],
    [
      "a problem if a connected cluster is",
      [active, condition("ClustersSynced", "False", "ClusterUnreachable")],
      {},
      "problem ClusterUnreachable",
    ],
    [
      "in progress while connected clusters are",
      [active, condition("ClustersSynced", "False", "Progressing")],
      {},
      "info Progressing",
    ],
    [
      "paused while its sync is",
      [active, condition("Synced", "False", "Paused")],
      {},
      "info Paused",
    ],
    [
      "without targets if no namespace accepts it",
      [active, condition("Synced", "False", "NoTargets")],
      {},
      "info NoTargets",
    ],
    ["waiting", [condition("Ready", "False", "WaitingForGrant")], {}, "info WaitingForGrant"],
    ["not ready", [invalid, expiring], {}, "problem InvalidScope"],
    ["not ready also then", [invalid], { isObserved: false }, "problem InvalidScope"],
    [
      "not ready if not synced",
      [condition("Synced", "False", "Failed"), active],
      {},
      "problem Failed",
    ],
    ["expired", [expired], {}, "info Expired"],
    ["expiring by its condition", [active, expiring], {}, "info Expiring"],
  ])("%s", (_rule, conditions, seen, expected) => {
    const { state, reason } = objectState(conditions, seen);
    expect(`${state} ${reason}`).toBe(expected);
  });
});

test("the state of an older generation is not the state of the object", () => {
  const condition = {
    type: "Ready",
    status: "True",
    reason: "Active",
    message: "m",
    lastTransitionTime: "t",
  };
  const object = (observedGeneration: number) => ({
    metadata: { generation: 2 },
    status: { observedGeneration, conditions: [condition] },
  });
  expect(readyOf(object(1))).toBeUndefined();
  expect(readyOf(object(2))).toEqual(condition);
});
