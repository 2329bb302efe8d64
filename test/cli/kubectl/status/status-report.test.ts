import { describe, expect, test } from "vitest";
import { resources } from "../../../../src/api/resources.ts";
import {
  lifetimeStatus,
  sourceStatus,
  statusItems,
} from "../../../../src/cli/kubectl/status/status-report.ts";
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
    ...{ desired: 3, synced: 2, conflicts: 1 },
    failures: [{ namespace: "web", name: "db", reason: "NotManaged", message: "exists" }],
  },
};
const source = { kind: "SharedSecret", namespace: "team-a", name: "db" };

function secret(namespace: string, state: string, target?: string) {
  return { object: { kind: "Secret", namespace, name: "db" }, source, state, target };
}

const conflict = {
  ...secret("web", "problem", "conflict"),
  ...{ reason: "NotManaged", message: "exists" },
};

describe("the targets of a SharedSecret", () => {
  const statusOf = (status: object, ...copies: readonly ReturnType<typeof copy>[]) =>
    sourceStatus(object("True", status), new Map([["u", copies]]));

  test("are those that the status lists as failures, then its copies by name", () => {
    const { object: web, ...why } = conflict;
    expect(statusOf(failing, copy("web-b/db"), copy("web-a/db"))).toMatchObject({
      ...{ object: source, areNamed: true, summary: "2 of 3 targets synced, 1 conflict" },
      causes: [{ object: web, reason: why.reason, message: why.message }],
      secrets: [conflict, secret("web-a", "ok", "synced"), secret("web-b", "ok", "synced")],
    });
  });

  test("are only the failures if copies cannot be listed", () => {
    const found = sourceStatus(object("True", failing), undefined);
    expect(found).toMatchObject({ areNamed: false, secrets: [conflict] });
  });

  test("have a failure that a copy records and the status no longer lists, or are paused", () => {
    const copies = [
      copy("web/db", { error: "Invalid: the type cannot change" }),
      copy("z/db", { error: "Invalid: the type cannot change" }),
      copy("x/db", { error: "spec.data is not valid" }),
      copy("y/db", { isPaused: true }),
    ];
    expect(statusOf(failing, ...copies).secrets).toMatchObject([
      conflict,
      {
        ...{ ...secret("x", "problem"), reason: "NotCurrent" },
        message: "spec.data is not valid",
      },
      {
        ...{ ...secret("z", "problem", "failed"), reason: "Invalid" },
        message: "the type cannot change",
      },
      { object: secret("y", "info").object, state: "info", reason: "CopyPaused" },
    ]);
  });

  test("have no state if more copies exist than are synced", () => {
    const pending = { sync: { desired: 2, synced: 1 } };
    expect(statusOf(pending, copy("a/db"), copy("b/db")).secrets).toMatchObject([
      secret("a", "ok"),
      secret("b", "ok"),
    ]);
  });
});

test.each([
  ["has no end", {}, "ok", undefined],
  ["ends later", { expiresAt: "2026-12-23T09:00:00Z" }, "ok", 2_592_000],
  ["ends soon", { expiresAt: "2026-11-23T10:00:00Z" }, "info", 3600],
  ["has ended", { expiresAt: "2026-11-23T08:00:00Z" }, "ok", -3600],
])("a key or token that %s", (_what, status, state, endsIn) => {
  const raw = object("True", { ...status, token: "never-shown" });
  const found = lifetimeStatus(resources.endpointTokens, raw, { now, endsWithin: 86_400 });
  expect(found).toMatchObject({ object: { name: "db" }, state, endsIn });
  expect(JSON.stringify(found)).not.toContain("never-shown");
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
      ["OwnedAccessKey ci-pipeline", "info", "Expiring"],
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
      targets: { synced: 1, conflict: 1, failed: 0, pending: 0 },
    });
    expect(items.find(({ object: { namespace } }) => namespace === "web-prod")?.source).toEqual({
      ...registry,
      name: "database",
    });
  });
});
