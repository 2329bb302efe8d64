import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reasons } from "../../../src/api/conditions.ts";
import { parseConditions, parseMetadata } from "../../../src/api/parse.ts";
import { resources } from "../../../src/api/resources.ts";
import { ObjectCounts } from "../../../src/controllers/object-counts.ts";
import { createMetrics } from "../../../src/runtime/metrics.ts";
import { alertRules } from "../../support/alert-rules.ts";
import { shippedPolicyObjects } from "../../support/connected-policies.ts";
import { runs } from "../../support/property-runs.ts";
import { reportProblems } from "../../support/report-shape.ts";
import { statesInMetrics, statesInStatus } from "../../support/reported-states.ts";
import { TestClock } from "../../support/test-clock.ts";
import { fakeCluster } from "../fake-cluster.ts";
import { runCommand } from "../run-command.ts";

const { sharedSecrets, ownedAccessKeys, endpointTokens } = resources;
const kinds = [sharedSecrets, ownedAccessKeys, endpointTokens];
const at = "2026-01-01T00:00:00Z";
/** Not in the table: of another version, or a name that every JavaScript object has. */
const foreignReasons = ["Foreign", "toString"];

const said = { message: "It is so", lastTransitionTime: at };
const reason = fc.constantFrom(...Object.keys(reasons), ...foreignReasons);
const conditionStatus = fc.constantFrom("True", "False", "Unknown");
const condition = fc.record({
  type: fc.constantFrom("Ready", "Synced", "Expired", "Expiring", "Stalled", "Active"),
  status: conditionStatus,
  reason,
  message: fc.constant("It is so"),
  lastTransitionTime: fc.constant(at),
});
const count = fc.integer({ min: -1, max: 12 });
const sync = fc.record(
  { desired: count, synced: count, conflicts: count, failed: count, failures: failures() },
  { requiredKeys: [] },
);
const generatedStatus = fc.record(
  {
    observedGeneration: fc.integer({ min: 1, max: 2 }),
    conditions: fc.uniqueArray(condition, { selector: ({ type }) => type }),
    expiresAt: fc.constantFrom(
      "2025-12-01T00:00:00Z",
      "2026-01-02T00:00:00Z",
      "2027-01-01T00:00:00Z",
    ),
    sync,
  },
  { requiredKeys: [] },
);
const object = fc.record({
  resource: fc.constantFrom(...kinds),
  isTerminating: fc.boolean(),
  status: fc.option(generatedStatus, { nil: undefined }),
});

interface Generated {
  readonly resource: (typeof kinds)[number];
  readonly isTerminating: boolean;
  readonly status: object | undefined;
}

function failures() {
  return fc.array(
    fc.record({
      namespace: fc.constantFrom("web-a", "web-b"),
      name: fc.constantFrom("db", "tls"),
      message: fc.constant("It is so"),
      reason: fc.constantFrom("NotManaged", "OlderSource", "Invalid", "Forbidden"),
    }),
    { maxLength: 2 },
  );
}

/** An object as the API server has it. */
function rawObject({ resource, isTerminating, status }: Generated, index: number) {
  const namespace = resource === sharedSecrets ? { namespace: `team-${index % 2}` } : {};
  const identity = { name: `object-${index}`, uid: `uid-${index}`, resourceVersion: "1" };
  const times = { creationTimestamp: at, ...(isTerminating ? { deletionTimestamp: at } : {}) };
  return {
    kind: resource.kind,
    metadata: { ...namespace, ...identity, generation: 2, ...times },
    spec: {},
    ...(status === undefined ? {} : { status }),
  };
}

/** The text of `/metrics` and the report of `status -A` about the same objects. */
async function seen(objects: readonly Generated[]) {
  const counts = new ObjectCounts(new TestClock());
  const metrics = createMetrics();
  counts.expose(metrics);
  const listed: Record<string, object[]> = {};
  for (const [index, one] of objects.entries()) {
    const raw = rawObject(one, index);
    (listed[one.resource.plural] ??= []).push(raw);
    const conditions = parseConditions(raw.status);
    const after = { metadata: parseMetadata(raw), conditions, status: { ...raw.status } };
    counts.record({ resource: one.resource, after });
  }
  const { stdout } = await runCommand({
    command: "status",
    flags: { "all-namespaces": "", output: "json" },
    connect: async () => fakeCluster({ objects: { ...shippedPolicyObjects(at), ...listed } }),
  });
  const report: unknown = JSON.parse(stdout);
  return { report, text: (await metrics.render()).text };
}

const foreign = [...foreignReasons, "Forbidden", "Invalid", ""];

test("metrics and status name the same objects, with the same reasons, and count the same targets", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(object, { maxLength: 12 }), async (objects) => {
      const { report, text } = await seen(objects);
      expect(reportProblems(report, "status", foreign)).toEqual([]);
      expect(statesInStatus(report)).toEqual(statesInMetrics(text));
    }),
    runs(300),
  );
});

test.each([
  ["OwnedAccessKey", "True", "Active", undefined],
  ["OwnedAccessKey", "False", "Expired", undefined],
  ["OwnedAccessKey", "False", "Terminating", "info"],
  ["OwnedAccessKey", "False", "MissingKey", "problem"],
  ["DirectClusterEndpointToken", "True", "Minted", "ok"],
  ["DirectClusterEndpointToken", "False", "Expired", undefined],
  ["DirectClusterEndpointToken", "False", "WaitingForGrant", "info"],
])("shows a %s that is Ready=%s for %s as %s", async (kind, ready, one, state) => {
  const resource = kinds.find((each) => each.kind === kind) ?? sharedSecrets;
  const conditions = [{ type: "Ready", status: ready, reason: one, ...said }];
  const status = { observedGeneration: 2, conditions };
  const { report } = await seen([{ resource, isTerminating: false, status }]);
  const items = state === undefined ? [] : [{ object: { kind }, state, reason: one }];
  expect(report).toMatchObject({ items });
});

describe("an object that an alert counts", () => {
  const alerts = alertRules().filter(({ expr }) => expr.includes('status="False",reason!~'));
  const counted = alerts.flatMap(({ alert, expr }) => {
    const [, type = "", excluded = ""] =
      /condition="(\w+)",status="False",reason!~"(.*?)"/.exec(expr) ?? [];
    return Object.keys(reasons)
      .filter((one) => !excluded.split("|").includes(one))
      .map((one) => ({ alert, type, reason: one }));
  });

  test("is of one of two alerts", () => {
    const names = ["LatchkeyObjectsNotReady", "LatchkeyCopiesStuck"];
    expect(alerts.map(({ alert }) => alert)).toEqual(expect.arrayContaining(names));
  });

  // Ready has a temporary reason of Synced, too.
  const temporary = ["Terminating", "WaitingForGrant"];

  test.each(counted)(
    "has the reason $reason of $alert in status",
    async ({ type, reason: one }) => {
      const ready = temporary.includes(one)
        ? { type: "Ready", status: "False", reason: one, ...said }
        : { type: "Ready", status: "True", reason: "Ready", ...said };
      const conditions = [
        { type, status: "False", reason: one, ...said },
        ...(type === "Ready" ? [] : [ready]),
      ];
      const status = { observedGeneration: 2, conditions };
      const { report } = await seen([{ resource: sharedSecrets, isTerminating: false, status }]);
      expect(report).toMatchObject({ items: [{ reason: one }] });
    },
  );
});
