import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reasons } from "../../../src/api/conditions.ts";
import { annotations } from "../../../src/api/names.ts";
import type { SourceReport } from "../../../src/domain/outbox/cluster-report.ts";
import {
  clustersCondition,
  namedClusters,
  type OfferedSummary,
  statedClusters,
  summarizeClusters,
} from "../../../src/domain/outbox/cluster-sync.ts";
import type { OutboxState } from "../../../src/domain/outbox/outbox-table.ts";
import type {
  ObservedAgent,
  ObservedClusterSync,
} from "../../../src/domain/outbox/cluster-obstacle.ts";
import type { SyncOptions } from "../../../src/domain/sync/sync-options.ts";
import { east, sharedWith } from "../../support/observed-outbox.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { runs } from "../../support/property-runs.ts";

const source = sharedWith({ options: { clusters: ["*"] } });

const reachable: ObservedAgent = { ageMs: 90_000 };
const unreachable: ObservedAgent = { ageMs: 90_001 };
const idle: ObservedAgent = {
  ageMs: 0,
  problem: { reason: "PoliciesMissing", message: "policy x is missing" },
};

/** A report about the Secret of the resourceVersion 7. */
const reported = (changes: Partial<SourceReport> = {}): SourceReport => ({
  seen: "7",
  desired: 2,
  synced: 2,
  conflicts: 0,
  failed: 0,
  ...changes,
});

const connected = (changes: Partial<ObservedClusterSync> = {}): ObservedClusterSync => ({
  name: "east",
  connected: east,
  state: "current",
  report: reported(),
  agent: reachable,
  namespace: observedMetadata({ annotations: { [annotations.clusterUid]: east.uid } }),
  secret: observedMetadata({ resourceVersion: "7" }),
  ...changes,
});
const nothingThere = { desired: 0, synced: 0 } as const;
const unknown = connected({ connected: undefined, report: undefined });
const shareFull = connected({ state: "share-full" });
const noOutbox = connected({ namespace: undefined, report: undefined });

/** The reason and the counts of the only cluster: `reason desired/synced/conflicts/failed`. */
function said(observed: ObservedClusterSync, options: Partial<SyncOptions> = {}): string {
  const { clusters } = summarizeClusters(sharedWith({ options }), [observed]);
  const [cluster] = clusters;
  if (cluster === undefined) return "nothing";
  const { reason = "well", desired, synced, conflicts, failed } = cluster;
  return `${reason} ${[desired, synced, conflicts, failed].join("/")}`;
}

const blocked = { seen: "7", ...nothingThere, reason: "RemovalBlocked", message: "pay/db: kept" };
const waiting = connected({ state: "waiting", report: reported(blocked) });

const failed = reported({ synced: 1, failed: 1, reason: "Forbidden", message: "pay/db: quota" });
const problem = { reason: "TooLarge", message: "split it" } as const;

describe("the status of a source in a connected cluster", () => {
  test.for<[string, ObservedClusterSync, string]>([
    ["is well if every target is synced", connected(), "well 2/2/0/0"],
    [
      "has no target, however long ago the agent was heard",
      connected({ report: reported({ desired: 0, synced: 0 }), agent: unreachable }),
      "NoTargets 0/0/0/0",
    ],
    [
      "is well, however long ago the agent was heard",
      connected({ agent: unreachable }),
      "well 2/2/0/0",
    ],
    [
      "is well while policies are missing, if nothing is to be written",
      connected({ agent: idle }),
      "well 2/2/0/0",
    ],
    ["says that no such cluster exists", unknown, "ClusterUnknown 0/0/0/0"],
    ["says that it has no outbox", noOutbox, "OutboxMissing 0/0/0/0"],
    [
      "says that its projects are not let in",
      connected({ connected: { ...east, projects: [] } }),
      "ProjectNotLetIn 0/0/0/0",
    ],
    ["says that the outbox is full", connected({ state: "full" }), "OutboxFull 2/2/0/0"],
    ["says that a share of it is full", shareFull, "OutboxFull 2/2/0/0"],
    [
      "is in progress until the outbox has it",
      connected({ state: "missing", report: undefined }),
      "Progressing 0/0/0/0",
    ],
    [
      "is in progress while the outbox has something else",
      connected({ state: "differs" }),
      "Progressing 2/2/0/0",
    ],
    [
      "says why the outbox does not have it",
      connected({
        state: "missing",
        report: undefined,
        failure: { reason: "Forbidden", message: "quota" },
      }),
      "Forbidden 0/0/0/0",
    ],
    [
      "is in progress until the agent reports",
      connected({ report: undefined }),
      "Progressing 0/0/0/0",
    ],
    [
      "is in progress until the agent reports what is offered now",
      connected({ secret: observedMetadata({ resourceVersion: "8" }) }),
      "Progressing 2/2/0/0",
    ],
    [
      "is in progress while targets are written",
      connected({ report: reported({ synced: 1 }) }),
      "Progressing 2/1/0/0",
    ],
    ["says what failed", connected({ report: failed }), "Forbidden 2/1/0/1"],
    [
      "counts what failed without a reason",
      connected({ report: reported({ synced: 1, failed: 1 }) }),
      "Failed 2/1/0/1",
    ],
    [
      "counts conflicts without a reason",
      connected({ report: reported({ synced: 0, failed: 1, conflicts: 1 }) }),
      "Conflict 2/0/1/1",
    ],
    [
      "has a reason of the agent although all is synced",
      connected({ report: reported({ reason: "UnsupportedOption" }) }),
      "UnsupportedOption 2/2/0/0",
    ],
    [
      "says that the agent is not heard, where copies may differ",
      connected({ report: undefined, agent: unreachable }),
      "ClusterUnreachable 0/0/0/0",
    ],
    [
      "says that the agent is not heard, where copies differ",
      connected({ report: failed, agent: unreachable }),
      "ClusterUnreachable 2/1/0/1",
    ],
    [
      "says that the agent is not heard, where it has not seen the offer",
      connected({ secret: observedMetadata({ resourceVersion: "8" }), agent: unreachable }),
      "ClusterUnreachable 2/2/0/0",
    ],
    [
      "says why the agent writes nothing",
      connected({ report: failed, agent: idle }),
      "PoliciesMissing 2/1/0/1",
    ],
    ["says what the agent cannot remove", waiting, "RemovalBlocked 0/0/0/0"],
    [
      "says so, too, where no project is let in",
      { ...waiting, connected: { ...east, projects: [] } },
      "RemovalBlocked 0/0/0/0",
    ],
    [
      "says nothing of a removal that was blocked before another withdrawal",
      { ...waiting, report: reported({ ...blocked, seen: "6" }) },
      "Progressing 0/0/0/0",
    ],
  ])("%s", ([, observed, wanted]) => {
    expect(said(observed)).toBe(wanted);
  });

  test.for<[string, Partial<SyncOptions>, string]>([
    ["nothing of a source that names no project", { projects: [] }, "nothing"],
    ["that the source is invalid, with the last counts", { problem }, "TooLarge 2/2/0/0"],
    [
      "the same of a list of projects that is invalid",
      { problem, projects: [] },
      "TooLarge 2/2/0/0",
    ],
  ])("says %s", ([, options, wanted]) => {
    expect(said(connected(), options)).toBe(wanted);
  });

  test("says what cannot be removed of a source that names no project, before all else", () => {
    const sources = [connected({ name: "aaa", report: failed }), waiting];
    expect(said(waiting, { projects: [] })).toBe("RemovalBlocked 0/0/0/0");
    const { clusters } = summarizeClusters(source, sources);
    expect(clusters.map(({ name }) => name)).toEqual(["east", "aaa"]);
  });

  test.for<[string, string | RegExp, ObservedClusterSync]>([
    ["what to change", /^no connected cluster has .* "east"\. Correct the list, or run /, unknown],
    ["what to run", /does not exist; run kubectl latchkey cluster connect east$/, noOutbox],
    ["what the agent says", "pay/db: quota", connected({ report: failed })],
    ["nothing if the agent does not", /^$/, connected({ report: reported({ synced: 0 }) })],
    ["what is full", /maximum of bytes; share less with it$/, connected({ state: "full" })],
    ["which share is full", /^SharedSecrets of namespace ".*" hold a sixteenth/, shareFull],
  ])("has a message that says %s", ([, wanted, observed]) => {
    expect(summarizeClusters(source, [observed]).clusters[0]?.message).toMatch(wanted);
  });

  test("has a message that is bounded", () => {
    const failure = { reason: "Invalid", message: `${"x".repeat(255)}😀` };
    const [cut] = summarizeClusters(source, [connected({ state: "missing", failure })]).clusters;
    expect(cut?.message).toHaveLength(256);
    expect(cut?.message?.isWellFormed()).toBe(true);
  });
});

/** A cluster of this name with a report. */
const named = (name: string, report: SourceReport | undefined) =>
  connected({ name, connected: { ...east, name }, report });

describe("the status of a source", () => {
  test("lists at most 20 clusters, what failed first, then what is in progress", () => {
    const clusters = [
      ...Array.from({ length: 20 }, (_, at) => named(`a${at}`, reported())),
      named("west", undefined),
      named("south", failed),
      named("north", failed),
      named("east", undefined),
    ];
    const { clusters: listed, counts } = summarizeClusters(source, clusters);
    expect(listed.map(({ name }) => name).slice(0, 5)).toEqual([
      "north",
      "south",
      "east",
      "west",
      "a0",
    ]);
    expect(listed).toHaveLength(20);
    expect(counts).toEqual({ named: 24, synced: 20 });
  });

  test("does not depend on the order in which clusters are observed", () => {
    const clusters = ["a", "b", "c", "d"].map((name, at) =>
      named(name, at % 2 ? failed : reported()),
    );
    fc.assert(
      fc.property(fc.shuffledSubarray(clusters, { minLength: 4 }), (shuffled) => {
        expect(summarizeClusters(source, shuffled)).toEqual(summarizeClusters(source, clusters));
      }),
      runs(50),
    );
  });
});

describe("what a status says of clusters", () => {
  const of = (report: SourceReport): OfferedSummary =>
    summarizeClusters(source, [named("east", report)]);
  const closed = { ...named("east", undefined), connected: { ...east, projects: [] } };
  const before = of(failed);
  const since = 5_000;
  const stated = (summary: OfferedSummary, now: number, changes: Partial<SyncOptions> = {}) => {
    const { stated: last } = statedClusters(source, before, { last: undefined, now: since });
    const later = sharedWith({ options: { clusters: ["*"], ...changes } });
    return statedClusters(later, summary, { last, now });
  };

  test.for<[string, OfferedSummary]>([
    ["other counts", of({ ...failed, desired: 3 })],
    ["another reason", of({ ...failed, reason: "Conflict" })],
    ["another number of clusters", { ...before, counts: { named: 2, synced: 0 } }],
    ["no reason any more", of(reported())],
  ])("has %s 10 s after the last change, and not before", ([, summary]) => {
    const early = stated(summary, since + 9_999);
    expect([early.stated.summary, early.changesAt]).toEqual([before, since + 10_000]);
    const now = since + 10_000;
    expect(stated(summary, now)).toEqual({ stated: { ...early.stated, summary, since: now } });
  });

  test.for<[string, OfferedSummary, OfferedSummary]>([
    ["given", summarizeClusters(source, [closed]), of(failed)],
    ["taken", of(failed), summarizeClusters(source, [closed])],
  ])("says at once that a consent was %s", ([, first, summary]) => {
    const { stated: last } = statedClusters(source, first, { last: undefined, now: since });
    const { stated: said, ...rest } = statedClusters(source, summary, { last, now: since + 1 });
    expect([said.summary, said.since, rest]).toEqual([summary, since + 1, {}]);
  });

  test("is not changed for another sentence", () => {
    const { stated: last, ...rest } = stated(of({ ...failed, message: "other" }), since + 60_000);
    expect([last.summary, last.since, rest]).toEqual([before, since, {}]);
  });

  test("is said at once of a source with other options, or another generation", () => {
    const summary = of(reported());
    expect(stated(summary, since, { paused: true }).stated.summary).toBe(summary);
    const { stated: last } = statedClusters(source, before, { last: undefined, now: since });
    const changed = { last: { ...last, generation: last.generation - 1 }, now: since };
    expect(statedClusters(source, summary, changed)).toMatchObject({ stated: { summary } });
  });
});

describe("a source names", () => {
  test.for<[string, readonly string[], readonly string[]]>([
    ["the clusters of its list", ["east", "west", "east"], ["east", "west"]],
    ["all that are connected", ["*"], ["east", "north"]],
    ["all that are connected, and those of its list", ["west", "*"], ["west", "east", "north"]],
    ["none", [], []],
  ])("%s", ([, clusters, wanted]) => {
    const one = sharedWith({ options: { clusters } });
    expect(namedClusters(one, ["east", "north"])).toEqual(wanted);
  });
});

describe("the condition ClustersSynced", () => {
  test("has no sentence of a status that has none", () => {
    const { message: _, ...silent } = { name: "east", ...reported(), reason: "Odd", message: "" };
    const summary = { clusters: [silent], counts: { named: 1, synced: 0 } };
    expect(clustersCondition(source, summary)).toMatchObject({
      reason: "Failed",
      message: '0 of 1 connected clusters are synced, first: cluster "east": ',
    });
  });

  const claim = (observed: readonly ObservedClusterSync[], options: Partial<SyncOptions> = {}) => {
    const one = sharedWith({ options: { clusters: ["*"], ...options } });
    const { type, status, reason, message } = clustersCondition(
      one,
      summarizeClusters(one, observed),
    );
    return `${type} ${status} ${reason}: ${message}`;
  };

  test.for<[string, readonly ObservedClusterSync[], Partial<SyncOptions>, string]>([
    [
      "is True if all are synced",
      [connected()],
      {},
      "True Synced: 1 of 1 connected clusters are synced",
    ],
    [
      "is True without a connected cluster",
      [],
      { clusters: ["*"] },
      "True Synced: 0 of 0 connected clusters are synced",
    ],
    [
      "is False if no project is named",
      [connected()],
      { projects: [] },
      "False NotRequested: annotation management.service/sync-to-projects names no project",
    ],
    [
      "is False if no cluster has a target",
      [connected({ report: reported({ desired: 0, synced: 0 }) })],
      {},
      'False NoTargets: 0 of 1 connected clusters are synced, first: cluster "east": no namespace there is one of its projects and asks for copies',
    ],
    [
      "is True if one of two clusters has a target, which has the data",
      [named("west", reported()), connected({ report: reported({ desired: 0, synced: 0 }) })],
      {},
      "True Synced: 1 of 2 connected clusters are synced, the others have no target",
    ],
    [
      "is False while sync is paused",
      [connected()],
      { paused: true },
      'False Paused: annotation management.service/disable-sync is "true", so sync is paused',
    ],
    ["is False if the source is invalid", [connected()], { problem }, "False TooLarge: split it"],
    [
      "names first what cannot be removed, although no project is named",
      [connected(), waiting],
      { projects: [] },
      'False RemovalBlocked: 0 of 1 connected clusters are synced, first: cluster "east": pay/db: kept',
    ],
    [
      "is False while a cluster is in progress",
      [named("west", reported()), connected({ report: undefined })],
      {},
      'False Progressing: 1 of 2 connected clusters are synced, first: cluster "east": the agent of the cluster has not reported of this revision yet',
    ],
    [
      "names what failed",
      [connected({ report: failed }), named("a", undefined)],
      {},
      'False Failed: 0 of 2 connected clusters are synced, first: cluster "east": pay/db: quota',
    ],
    [
      "has no reason that an agent made up",
      [connected({ report: reported({ conflicts: 1, synced: 1, reason: "constructor" }) })],
      {},
      'False Conflict: 0 of 1 connected clusters are synced, first: cluster "east": ',
    ],
    [
      "has the reason of an agent that is one",
      [connected({ report: reported({ reason: "UnsupportedOption", message: "x" }) })],
      {},
      'False UnsupportedOption: 0 of 1 connected clusters are synced, first: cluster "east": x',
    ],
  ])("%s", ([, observed, options, wanted]) => {
    expect(claim(observed, options)).toBe(`ClustersSynced ${wanted}`);
  });

  const counts = fc.integer({ min: 0, max: 3 });
  const reports = fc.record({
    seen: fc.constantFrom("7", "6"),
    desired: counts,
    synced: counts,
    conflicts: counts,
    failed: counts,
  });
  const states = fc.constantFrom<OutboxState["kind"]>(
    "current",
    "full",
    "share-full",
    "missing",
    "unknown",
    "waiting",
  );
  const clusters = fc.oneof(
    fc.constantFrom(unknown, noOutbox),
    fc
      .record({
        report: fc.option(reports, { nil: undefined }),
        state: states,
        agent: fc.constantFrom(reachable, unreachable, idle),
      })
      .map(connected),
  );

  test("is True exactly if every cluster has reported the current offer as synced", () => {
    fc.assert(
      fc.property(fc.array(clusters, { maxLength: 25 }), (observed) => {
        const summary = summarizeClusters(source, observed);
        const { status, reason } = clustersCondition(source, summary);
        const isWell = observed.every(
          (one) =>
            one.connected !== undefined &&
            one.namespace !== undefined &&
            one.state === "current" &&
            one.report?.seen === "7" &&
            one.report.synced === one.report.desired &&
            one.report.conflicts + one.report.failed === 0,
        );
        expect(status === "True").toBe(isWell);
        expect(summary.counts.synced === summary.counts.named).toBe(isWell);
        expect(Object.hasOwn(reasons, reason)).toBe(true);
      }),
      runs(300),
    );
  });
});
