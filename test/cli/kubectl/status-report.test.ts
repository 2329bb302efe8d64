import { describe, expect, test } from "vitest";
import { statusItems } from "../../../src/cli/kubectl/status-items.ts";
import { keyStatus, sourceStatus, tokenStatus } from "../../../src/cli/kubectl/status-report.ts";
import { sampleReport } from "./status-sample.ts";

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

function copy(target: string, rest: { error?: string; isPaused?: boolean } = {}) {
  return { target, isPaused: false, ...rest };
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
    const copies = new Map([["u", [copy("web-b/db"), copy("web-a/db")]]]);
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

  test("has the failure that a copy records and the status no longer lists, and paused copies", () => {
    const error = "Invalid: the type cannot change";
    const copies = new Map([
      ["u", [copy("web/db", { error }), copy("z/db", { error }), copy("y/db", { isPaused: true })]],
    ]);
    expect(sourceStatus(object("True", failing), copies)).toMatchObject({
      paused: ["y/db"],
      failures: [
        { target: "web/db", reason: "Conflict", message: "exists" },
        { target: "z/db", reason: "Invalid", message: "the type cannot change" },
      ],
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

describe("a direct token is shown until it has expired", () => {
  const expired = { type: "Expired", status: "True", reason: "r", message: "m" };
  test("valid", () => {
    const status = { expiresAt: "2026-11-23T10:00:00Z", token: "never-shown" };
    const state = tokenStatus(object("True", status), now);
    expect(state).toMatchObject({ well: true, endsIn: 3600 });
    expect(JSON.stringify(state)).not.toContain("never-shown");
  });

  test("not minted", () => {
    expect(tokenStatus(object("False"), now)).toMatchObject({ well: false, endsIn: undefined });
  });

  test("expired", () => {
    const conditions = [{ ...expired, lastTransitionTime: "t" }];
    expect(tokenStatus(object("False", { conditions }), now)).toBeUndefined();
  });
});

describe("the report for programs", () => {
  test("has SharedSecrets with their copies, keys, tokens and what is not visible", () => {
    const items = statusItems(sampleReport).map(({ object: { kind, ...ref }, state, reason }) => [
      `${kind} ${Object.values(ref).join("/")}`,
      ...[state, reason],
    ]);
    expect(items).toEqual([
      ["SharedSecret team-a/database", "ok", "Ready"],
      ["Secret web-dev/database", "ok", "CopyFound"],
      ["Secret web-prod/database", "ok", "CopyFound"],
      ["Secret web-test/database", "info", "CopyPaused"],
      ["SharedSecret team-a/registry", "problem", "Conflict"],
      ["Secret web-prod/registry", "problem", "NotManaged"],
      ["Secret web-dev/registry", "ok", "CopyFound"],
      ["SharedSecret team-b/smtp", "ok", "Ready"],
      ["OwnedAccessKey ci-pipeline", "info", "EndsSoon"],
      ["DirectClusterEndpointToken laptop", "ok", "Minted"],
      ["Secret ", "unknown", "Forbidden"],
    ]);
  });

  test("names the copies of a SharedSecret that fail, and the SharedSecret of a copy", () => {
    const items = statusItems(sampleReport);
    const registry = { kind: "SharedSecret", namespace: "team-a", name: "registry" };
    const target = { kind: "Secret", namespace: "web-prod", name: "registry" };
    expect(items.find(({ object: { name } }) => name === "registry")).toMatchObject({
      object: registry,
      causes: [{ object: target, reason: "NotManaged" }],
    });
    expect(items.find(({ object: { namespace } }) => namespace === "web-prod")?.source).toEqual({
      ...registry,
      name: "database",
    });
  });
});
