import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reasons } from "../../../src/api/conditions.ts";
import { annotations, labels } from "../../../src/api/names.ts";
import type { Metadata } from "../../../src/api/object.ts";
import { reportReasons } from "../../../src/api/report.ts";
import {
  clusterFigures,
  clusterState,
  type ObservedCluster,
  renewalIn,
} from "../../../src/domain/outbox/cluster-overview.ts";
import { emptyReport, type SourceReport } from "../../../src/domain/outbox/cluster-report.ts";
import { explainCluster } from "../../../src/domain/outbox/explain-cluster.ts";
import { outboxName } from "../../../src/domain/outbox/outbox-names.ts";
import type { Source } from "../../../src/domain/sync/copy.ts";
import { observedSource } from "../../support/observed-copies.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { runs } from "../../support/property-runs.ts";

const now = Date.parse("2026-03-01T00:10:00Z");
const namespace = "latchkey-cluster-east";

/** A SharedSecret with these annotations. */
const source = (clusters: string, projects = "web", change: Partial<Metadata> = {}): Source =>
  observedSource({
    metadata: {
      namespace: "team",
      name: "db",
      uid: "uid-db",
      annotations: {
        [annotations.syncToClusters]: clusters,
        [annotations.syncToProjects]: projects,
      },
      ...change,
    },
    options: {
      clusters: clusters === "" ? [] : clusters.split(","),
      projects: projects === "" ? [] : projects.split(","),
    },
  });
const named = source("east,west");

/** A Secret of the outbox. */
const offered = (change: Partial<Metadata> = {}): Metadata =>
  observedMetadata({
    namespace,
    name: outboxName({ namespace: "team", name: "db" }),
    resourceVersion: "5",
    labels: { [labels.outboxUid]: "uid-db" },
    annotations: { [annotations.revisedAt]: "2026-03-01T00:09:00Z" },
    ...change,
  });
const withdrawn = offered({
  name: "gone",
  labels: { [labels.outboxUid]: "uid-gone" },
  annotations: { [annotations.withdrawn]: "uid-gone" },
});

const report = (change: Partial<SourceReport> = {}) => ({
  ...emptyReport,
  sources: new Map([
    ["uid-db", { seen: "5", desired: 2, synced: 2, conflicts: 0, failed: 0, ...change }],
  ]),
});

const outbox = observedMetadata({
  name: namespace,
  annotations: { [annotations.clusterUid]: "uid-east" },
});

/** A cluster whose agent works and reports that everything is synced. */
const well: ObservedCluster = {
  name: "east",
  connected: { name: "east", uid: "uid-east", projects: ["web", "pay"] },
  namespace: outbox,
  secrets: [offered()],
  reports: [report()],
  renewedAt: now - 5_000,
};
const lets = (...projects: readonly string[]) => ({
  connected: { name: "east", uid: "uid-east", projects },
});
const troubled = (reason: string) => [
  { ...emptyReport, problem: { reason, message: "look there" } },
  report({ synced: 1 }),
];

type Case = readonly [rule: string, change: Partial<ObservedCluster>, state: string, fact: string];

describe("the answer for a SharedSecret in a cluster", () => {
  const answer = (change: Partial<ObservedCluster>, asked: Source = named) => {
    const item = explainCluster(asked, { ...well, ...change }, now);
    return [`${item?.state} ${item?.reason}`, item?.message];
  };

  test.for<Case>([
    ["everything is there", {}, "ok Arrives", "2 of 2 targets there synced"],
    [
      "no such cluster",
      { connected: undefined },
      "problem ClusterUnknown",
      'no connected cluster has the name "east"',
    ],
    [
      "its project is not let in",
      lets("pay"),
      "problem ProjectNotLetIn",
      'the cluster does not let project "web" in',
    ],
    ["no project is let in", lets(), "problem ProjectNotLetIn", "does not let project"],
    ["all projects are let in", lets("*"), "ok Arrives", "2 of 2"],
    ["no outbox", { namespace: undefined }, "problem OutboxMissing", "does not exist"],
    [
      "the outbox of a former connection",
      { namespace: observedMetadata({ name: namespace }) },
      "problem OutboxMissing",
      "is not the outbox of this connection",
    ],
    [
      "an outbox that is being deleted",
      { namespace: { ...outbox, deletionTimestamp: "2026-03-01T00:00:00Z" } },
      "problem OutboxMissing",
      "is being deleted; run kubectl latchkey cluster connect east",
    ],
    [
      "a silent agent with all that is offered",
      { renewedAt: now - 100_000 },
      "ok Arrives",
      "2 of 2",
    ],
    [
      "a silent agent that lacks something",
      { renewedAt: now - 100_000, reports: [report({ seen: "4" })] },
      "problem ClusterUnreachable",
      "has not reported for 90 s",
    ],
    [
      "an agent that never was",
      { renewedAt: undefined, reports: [] },
      "problem ClusterUnreachable",
      "has never reported",
    ],
    [
      "an agent that writes nothing",
      { reports: troubled("PoliciesMissing") },
      "problem PoliciesMissing",
      "writes nothing: look there",
    ],
    [
      "a reason of no table",
      { reports: troubled("Nonsense") },
      "problem Failed",
      "writes nothing: look there",
    ],
    ["nothing in the outbox yet", { secrets: [] }, "unknown Progressing", "is being written"],
    [
      "a report of an older offer",
      { reports: [report({ seen: "4" })] },
      "unknown Progressing",
      "has not reported of this revision yet, which is 60 s old",
    ],
    ["no report", { reports: [] }, "unknown Progressing", "has not reported of this revision"],
    [
      "no namespace asks",
      { reports: [report({ desired: 0, synced: 0 })] },
      "problem NoTargets",
      "no namespace there",
    ],
    [
      "a conflict",
      { reports: [report({ synced: 1, conflicts: 1, reason: "Conflict", message: "web/db" })] },
      "problem Conflict",
      "1 of 2 targets there synced, 1 conflict: web/db",
    ],
    [
      "a write that is not done",
      { reports: [report({ synced: 1 })] },
      "unknown Progressing",
      "1 of 2 targets there synced",
    ],
  ])("%s", ([, change, state, fact]) => {
    expect(answer(change)).toEqual([state, expect.stringContaining(fact)]);
  });

  test.for<[string, Source, string]>([
    ["the source names another cluster", source("west"), "problem ClusterNotNamed"],
    ["the source names none", source(""), "problem ClusterNotNamed"],
    ["the source names all", source("*"), "ok Arrives"],
    ["the source names no project", source("east", ""), "problem NotRequested"],
    ["none of its projects is let in", source("east", "a,b"), "problem ProjectNotLetIn"],
    [
      "the source is being deleted",
      source("east", "web", { deletionTimestamp: "2026-03-01T00:00:00Z" }),
      "undefined undefined",
    ],
  ])("%s", ([, asked, state]) => {
    expect(answer({}, asked)[0]).toBe(state);
  });

  test("has a cause with the field to change where the central cluster decides", () => {
    const [cause] = explainCluster(named, { ...well, ...lets("pay") }, now)?.causes ?? [];
    expect(cause).toMatchObject({
      object: { kind: "Secret", namespace: "latchkey-clusters", name: "east" },
      field: `metadata.annotations["${annotations.projects}"]`,
      value: "pay",
    });
  });

  test("has a known reason whatever an agent reports", () => {
    const known = new Set([...Object.keys(reasons), ...Object.keys(reportReasons)]);
    const count = fc.nat(3);
    const reported = fc.record(
      {
        seen: fc.constantFrom("4", "5"),
        desired: count,
        synced: count,
        conflicts: count,
        failed: count,
        reason: fc.string(),
        message: fc.string(),
      },
      { requiredKeys: ["seen", "desired", "synced", "conflicts", "failed"] },
    );
    fc.assert(
      fc.property(reported, fc.option(fc.string()), (said, problem) => {
        const reports = [
          { ...emptyReport, sources: new Map([["uid-db", said]]) },
          ...(problem === null
            ? []
            : [{ ...emptyReport, problem: { reason: problem, message: "" } }]),
        ];
        const item = explainCluster(named, { ...well, reports }, now);
        return known.has(item?.reason ?? "");
      }),
      runs(200),
    );
  });
});

describe("a cluster as a whole", () => {
  test("has the figures of its outbox and its reports", () => {
    const other = (name: string, revised: string) =>
      offered({
        name,
        labels: { [labels.outboxUid]: name },
        annotations: { [annotations.revisedAt]: revised },
      });
    const secrets = [
      ...[offered(), withdrawn, other("a", "2026-03-01T00:05:00Z")],
      other("b", "2026-03-01T00:08:00Z"),
    ];
    expect(clusterFigures({ ...well, secrets }, now)).toEqual({
      projects: ["web", "pay"],
      heartbeatAge: 5,
      offered: 3,
      synced: 1,
      withdrawals: 1,
      unseenAge: 300,
    });
  });

  test("does not count a source as synced whose agent says why it has no target", () => {
    const reports = [report({ desired: 0, synced: 0, reason: "UnsupportedOption" })];
    expect(clusterFigures({ ...well, reports }, now)).toMatchObject({ offered: 1, synced: 0 });
  });

  test("has no ages without a heartbeat and without an offer, and none below zero", () => {
    const figures = { projects: ["web", "pay"], offered: 0, synced: 0, withdrawals: 0 };
    expect(clusterFigures({ ...well, secrets: [], renewedAt: undefined }, now)).toEqual(figures);
    const ahead = clusterFigures({ ...well, secrets: [], renewedAt: now + 60_000 }, now);
    expect(ahead).toEqual({ ...figures, heartbeatAge: 0 });
  });

  test.each<[string, number, number, string]>([
    ["that is right", now - 5_000, now - 5_000, ""],
    ["that is 59 s ahead", now - 5_000, now + 54_000, ""],
    ["an hour behind", now - 5_000, now - 3_600_000, ""],
    [
      "an hour ahead",
      now - 5_000,
      now + 3_595_000,
      "; its clock is 3600 s ahead of that of the API server",
    ],
    [
      "of which also the API server has it",
      now + 60_000,
      now + 60_000,
      "; its clock is 60 s ahead of that of the API server",
    ],
  ])("is well with an agent whose clock is one %s", (_clock, renewedAt, agentTime, text) => {
    const { state, message } = clusterState({ ...well, renewedAt, agentTime }, now);
    expect([state, message]).toEqual(["ok", `The agent of cluster "east" reports${text}.`]);
  });

  test.each<[string, unknown, ReturnType<typeof renewalIn>]>([
    ["a Lease that does not exist", undefined, { renewedAt: undefined, agentTime: undefined }],
    [
      "a Lease that was never renewed",
      { metadata: { managedFields: [{ time: "2026-03-01T00:00:00Z" }] }, spec: {} },
      { renewedAt: undefined, agentTime: undefined },
    ],
    [
      "a Lease that was renewed, by the last write",
      {
        metadata: {
          managedFields: [
            { time: "2026-03-01T00:09:00Z" },
            { time: "2026-03-01T00:00:00Z" },
            { time: "x" },
          ],
        },
        spec: { renewTime: "9999-01-01T00:00:00.000000Z" },
      },
      { renewedAt: now - 60_000, agentTime: Date.parse("9999-01-01T00:00:00Z") },
    ],
    [
      "a Lease without the times of its writes",
      { spec: { renewTime: "2026-03-01T00:09:00.000000Z" } },
      { renewedAt: now - 60_000, agentTime: now - 60_000 },
    ],
  ])("reads the renewal of %s", (_what, lease, expected) => {
    expect(renewalIn(lease)).toEqual(expected);
  });

  test.for<[string, Partial<ObservedCluster>, string]>([
    [
      "names the command that ends an outbox without a cluster",
      {},
      'No Secret connects cluster "east", which still has an outbox; run kubectl latchkey cluster disconnect east.',
    ],
    [
      "claims no outbox of a cluster that never existed",
      { namespace: undefined },
      'No connected cluster has the name "east"; correct the name, or run kubectl latchkey cluster connect east.',
    ],
  ])("%s", ([, change, wanted]) => {
    const { message } = clusterState({ ...well, connected: undefined, ...change }, now);
    expect(message).toBe(wanted);
  });

  test.for<[string, Partial<ObservedCluster>, string]>([
    ["is well", {}, "ok Synced"],
    ["is not connected any more", { connected: undefined }, "problem ClusterUnknown"],
    ["has no outbox", { namespace: undefined }, "problem OutboxMissing"],
    ["is only for the gateway", { namespace: undefined, ...lets() }, "info OutboxMissing"],
    ["lets no project in", lets(), "info ProjectNotLetIn"],
    ["has a silent agent", { renewedAt: now - 90_001 }, "problem ClusterUnreachable"],
    ["has an agent that is late", { renewedAt: now - 90_000 }, "ok Synced"],
    ["has a second agent", { reports: troubled("DuplicateAgent") }, "problem DuplicateAgent"],
  ])("%s", ([, change, wanted]) => {
    const { state, reason } = clusterState({ ...well, ...change }, now);
    expect(`${state} ${reason}`).toBe(wanted);
  });
});
