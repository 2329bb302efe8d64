import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { resources } from "../../../src/api/resources.ts";
import { paintWith } from "../../../src/client/output.ts";
import {
  lifetimeStatus,
  type SourceStatus,
  sourceStatus,
  statusItems,
  statusText,
} from "../../../src/client/status/status-report.ts";
import { placeOf } from "../../../src/domain/report-object.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { inConflict, sampleReport } from "./status-sample.ts";

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

function copy(namespace: string, given: Readonly<Record<string, string>> = {}) {
  return observedMetadata({ namespace, name: "db", annotations: given });
}

const failing = {
  sync: {
    desired: 3,
    synced: 2,
    conflicts: 1,
    failures: [{ namespace: "web", name: "db", reason: "NotManaged", message: "exists" }],
  },
};
const conflict = ["web/db", "problem", "conflict", "NotManaged", "exists"];

describe("the targets of a SharedSecret", () => {
  const statusOf = (status: object, ...copies: readonly ReturnType<typeof copy>[]) =>
    sourceStatus(object("True", status), new Map([["u", copies]]));
  /** Each target with its states and its reason, and what is wrong there. */
  const said = ({ secrets }: SourceStatus) =>
    secrets.map((secret) => [
      ...[placeOf(secret.object), secret.state, secret.target, secret.reason],
      ...(secret.state === "problem" ? [secret.message] : []),
    ]);

  test("are those that the status lists as failures, then its copies by name", () => {
    const found = statusOf(failing, copy("web-b"), copy("web-a"));
    const source = { kind: "SharedSecret", namespace: "team-a", name: "db" };
    expect(found).toMatchObject({
      object: source,
      areNamed: true,
      summary: "2 of 3 targets synced, 1 conflict",
      causes: [{ object: { kind: "Secret", namespace: "web" }, reason: "NotManaged" }],
      secrets: [{ source }, { source }, { source }],
    });
    expect(said(found)).toEqual([
      conflict,
      ["web-a/db", "ok", "synced", "CopyFound"],
      ["web-b/db", "ok", "synced", "CopyFound"],
    ]);
  });

  test("say alone what the message of the SharedSecret repeats", () => {
    const saidOf = (message: string) => {
      const conditions = [
        { type: "Synced", status: "False", reason: "Conflict", message, lastTransitionTime: "t" },
      ];
      return sourceStatus(object("True", { ...failing, conditions }), undefined).said;
    };
    expect(saidOf("1 of 2, first: web/db: exists")).toBe("");
    expect(saidOf("another")).toBe("another");
  });

  test("are only the failures if copies cannot be listed", () => {
    const found = sourceStatus(object("True", failing), undefined);
    expect(found.areNamed).toBe(false);
    expect(said(found)).toEqual([conflict]);
  });

  test("have a failure that a copy records and the status no longer lists, or are paused", () => {
    const copies = [
      copy("web", { [annotations.syncError]: "Invalid: the type cannot change" }),
      copy("z", { [annotations.syncError]: "Invalid: the type cannot change" }),
      copy("x", { [annotations.syncError]: "spec.data is not valid" }),
      copy("y", { [annotations.disableSync]: "true" }),
    ];
    expect(said(statusOf(failing, ...copies))).toEqual([
      conflict,
      ["x/db", "problem", undefined, "NotCurrent", "spec.data is not valid"],
      ["z/db", "problem", "failed", "Invalid", "the type cannot change"],
      ["y/db", "info", undefined, "CopyPaused"],
    ]);
  });

  test("have no state if more copies exist than are synced", () => {
    const pending = { sync: { desired: 2, synced: 1 } };
    expect(said(statusOf(pending, copy("a"), copy("b")))).toEqual([
      ["a/db", "ok", undefined, "CopyFound"],
      ["b/db", "ok", undefined, "CopyFound"],
    ]);
  });
});

test("the clusters of a SharedSecret are those of its status, and counted", () => {
  const counts = { desired: 2, synced: 2, conflicts: 0, failed: 0 };
  const sync = {
    desired: 1,
    synced: 1,
    clusterCounts: { named: 3, synced: 1 },
    clusters: [
      { name: "west", ...counts, synced: 1, reason: "Conflict", message: "web/db exists" },
      { name: "north", ...counts, synced: 0, reason: "Progressing" },
      { name: "east", ...counts },
    ],
  };
  const { summary, clusters, state } = sourceStatus(object("True", { sync }), new Map());
  expect([state, summary]).toEqual(["ok", "1 of 1 targets synced, 1 of 3 clusters synced"]);
  expect(clusters.map((item) => [item.object.name, item.state, item.reason, item.message])).toEqual(
    [
      ["west", "problem", "Conflict", "1 of 2 targets there synced: web/db exists"],
      ["north", "unknown", "Progressing", "0 of 2 targets there synced"],
      ["east", "ok", "Arrives", "2 of 2 targets there synced."],
    ],
  );
});

test.each([
  ["has no end", {}, "ok", undefined],
  ["ends later", { expiresAt: "2026-12-23T09:00:00Z" }, "ok", 2_592_000],
  ["ends soon", { expiresAt: "2026-11-23T10:00:00Z" }, "ok", 3600],
  ["has ended", { expiresAt: "2026-11-23T08:00:00Z" }, "ok", -3600],
])("a key or token that %s", (_what, status, state, endsIn) => {
  const raw = object("True", { ...status, token: "never-shown" });
  const found = lifetimeStatus(resources.endpointTokens, raw, now);
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
      ["Cluster west", "problem", "ClusterUnreachable"],
      ["Cluster east", "ok", "Arrives"],
      ["SharedSecret team-b/smtp", "ok", "Ready"],
      ["OwnedAccessKey ci-pipeline", "info", "Expiring"],
      ["DirectClusterEndpointToken laptop", "ok", "Minted"],
      ["Cluster east", "info", "Expiring"],
      ["Cluster west", "problem", "ClusterUnreachable"],
      ["ValidatingAdmissionPolicy latchkey-mint-guard", "problem", "PolicyChanged"],
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

const plain = paintWith(false);

test("the text is a tree", () => {
  expect(statusText(sampleReport, plain).split("\n")).toEqual([
    "SharedSecrets",
    '  team-a/database "Orders database" Ready, 2 of 2 targets synced',
    "  ├─ web-dev/database synced",
    "  ├─ web-prod/database synced",
    "  └─ web-test/database paused",
    "  team-a/registry Conflict, 1 of 2 targets synced, 1 conflict, 1 of 2 clusters synced",
    "  ├─ 1 of 2 targets has a conflict.",
    '  ├─ web-prod/registry conflict NotManaged: Secret "web-prod/registry" already exists and is not managed by Latchkey',
    "  ├─ web-dev/registry synced",
    "  ├─ cluster west ClusterUnreachable: 0 of 2 targets there synced: the agent has not reported for 90 s or longer",
    "  └─ cluster east 3 of 3 targets there synced.",
    "  team-b/smtp Ready, 4 of 4 targets synced",
    "Access keys that expire soon or are not ready",
    '  ci-pipeline "Pipeline" Expiring, ends in 3d: The key is accepted.',
    "Direct tokens",
    "  laptop Minted, ends in 42m",
    "Connected clusters",
    "  east heartbeat 4s ago, 1 of 1 SharedSecret synced Expiring: The credential of the gateway ends in 9d.",
    "  west heartbeat 2h ago, 0 of 1 SharedSecret synced, 1 withdrawal waits, a revision of 5m ago is not reported ClusterUnreachable: The agent has not reported for 90 s.",
    "Installation",
    "  The policy decides something else than that of Latchkey.",
    "Not visible to you",
    "  you may not list Secrets in all namespaces, so targets are counted, not named",
    "",
  ]);
});

test("an empty report says so, and has no section about rights", () => {
  const nothing = {
    sharedSecrets: [],
    keys: [],
    tokens: [],
    clusters: [],
    policies: [],
    notVisible: [],
    isConnected: false,
  };
  const text = statusText(nothing, plain);
  expect(text.split("\n").filter((line) => line === "  none")).toHaveLength(3);
  expect(text).not.toMatch(/Not visible|Connected clusters|Installation/);
});

test("more than 20 tokens are counted", () => {
  const [token] = sampleReport.tokens;
  const tokens = Array.from({ length: 25 }, (_, at) => ({
    ...token!,
    object: { kind: "DirectClusterEndpointToken", name: `token-${at}` },
  }));
  const text = statusText({ ...sampleReport, tokens }, plain);
  expect(text).toContain("  and 5 more\n");
  expect(text).not.toContain("token-20");
});

describe("a display name", () => {
  const line = (displayName: unknown): string | undefined => {
    const source = sourceStatus({ ...object("True"), spec: { displayName } }, undefined);
    const report = { ...sampleReport, sharedSecrets: [source], keys: [], tokens: [] };
    return statusText(report, plain).split("\n")[1];
  };

  test.each([
    ["pretends", 'x"   Ready, 9 of 9', String.raw`"x\" Ready, 9 of 9"`],
    ["controls the terminal", "\u{1b}[2J\u{202e}a\nb", String.raw`"\u001b[2J�a\nb"`],
    ["is long", "x".repeat(100_000), `"${"x".repeat(64)}..."`],
  ])("stands in quotes behind the name of the object: it %s", (_what, text, shown) => {
    expect(line(text)).toBe(`  team-a/db ${shown} Reason, not seen by the controller`);
  });

  test.each(["", undefined, 7])("is not shown if it is %j", (text) => {
    expect(line(text)).toBe("  team-a/db Reason, not seen by the controller");
  });

  test.each([
    [{ user: "alice" }, "no scope: all rights of alice"],
    [{ user: "alice", scope: { roles: [] } }, undefined],
  ])("of a key says what a key without a scope may do: %j", (spec, unscoped) => {
    const raw = { ...object("False"), spec };
    const found = lifetimeStatus(resources.ownedAccessKeys, raw, now);
    expect(found.unscoped).toBe(unscoped);
    const text = statusText({ ...sampleReport, keys: [found] }, plain);
    expect(text.includes("(no scope: all rights of alice)")).toBe(unscoped !== undefined);
  });

  test("of a key is in its item", () => {
    const raw = { ...object("True"), spec: { displayName: "Pipeline" } };
    const found = lifetimeStatus(resources.ownedAccessKeys, raw, now);
    expect(found.displayName).toBe("Pipeline");
  });
});

test("control characters of a message do not reach the terminal", () => {
  const sharedSecrets = [{ ...inConflict, said: "a\u{1b}[2Jb\nc" }];
  const text = statusText({ ...sampleReport, sharedSecrets }, plain);
  expect(text).toContain("├─ a\u{fffd}[2Jb c\n");
});
