import { describe, expect, test } from "vitest";
import { paintWith } from "../../../src/cli/kubectl/output.ts";
import { keyStatus, sourceStatus, statusText } from "../../../src/cli/kubectl/status-report.ts";

const now = Date.parse("2026-11-23T09:00:00Z");

function object(ready: string, status: object = {}) {
  const condition = {
    type: "Ready",
    status: ready,
    reason: "Reason",
    message: "the message",
    lastTransitionTime: "t",
  };
  return {
    metadata: { namespace: "team-a", name: "db", uid: "u", generation: 1 },
    status: { observedGeneration: 1, conditions: [condition], ...status },
  };
}

const failing = {
  sync: {
    desired: 2,
    synced: 1,
    conflicts: 1,
    failures: [{ namespace: "web", name: "db", reason: "Conflict", message: "exists" }],
  },
};

describe("a SharedSecret", () => {
  test("has its copies, and those that fail", () => {
    const copies = new Map([["u", ["web-b/db", "web-a/db"]]]);
    expect(sourceStatus(object("True", failing), copies)).toMatchObject({
      name: "team-a/db",
      well: false,
      targets: ["web-a/db", "web-b/db"],
      failures: [{ target: "web/db", reason: "Conflict", message: "exists" }],
    });
    expect(sourceStatus(object("True"), undefined)).toMatchObject({
      well: true,
      targets: undefined,
    });
  });

  test("that no controller has seen is not well", () => {
    expect(sourceStatus({ metadata: { generation: 1 } }, undefined)).toMatchObject({
      well: false,
      reason: "NotObserved",
    });
  });
});

describe("a key is shown if it ends soon or is not well", () => {
  const expired = [
    { type: "Expired", status: "True", reason: "Expired", message: "m", lastTransitionTime: "t" },
  ];
  test.each([
    ["is well", object("True"), undefined],
    ["ends later", object("True", { expiresAt: "2026-12-23T09:00:00Z" }), undefined],
    ["ends soon", object("True", { expiresAt: "2026-11-23T10:00:00Z" }), 3600],
    [
      "has expired",
      object("False", { conditions: expired, expiresAt: "2026-11-22T09:00:00Z" }),
      undefined,
    ],
  ])("%s", (_what, key, endsIn) => {
    expect(keyStatus(key, { now, endsWithin: 86_400 })?.endsIn).toBe(endsIn);
  });

  test("is not well", () => {
    expect(keyStatus(object("False"), { now, endsWithin: 0 })).toMatchObject({ well: false });
  });
});

test("the text is a tree", () => {
  const report = {
    sharedSecrets: [sourceStatus(object("True", failing), new Map([["u", ["web-a/db"]]]))],
    keys: [],
  };
  expect(statusText(report, paintWith(false)).split("\n")).toEqual([
    "SharedSecrets",
    "  team-a/db Reason, 1 of 2 copies",
    "  ├─ the message",
    "  ├─ web-a/db",
    "  └─ web/db Conflict: exists",
    "Access keys that end soon or are not well",
    "  none",
    "",
  ]);
});
