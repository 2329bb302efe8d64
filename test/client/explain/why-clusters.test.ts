import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { reportKey, reportText, emptyReport } from "../../../src/domain/outbox/cluster-report.ts";
import { outboxName } from "../../../src/domain/outbox/outbox-names.ts";
import { reportProblems } from "../../support/report-shape.ts";
import { fakeCluster, type FakeObjects, statesOf } from "../fake-cluster.ts";
import { runCommand } from "../run-command.ts";

const at = "1970-01-01T00:00:00Z";
const identity = { resourceVersion: "1", creationTimestamp: at };
const marks = {
  [annotations.syncToProjects]: "web",
  [annotations.syncToClusters]: "east,west",
};
const namespace = "latchkey-cluster-east";
const source = { namespace: "team-a", name: "db" };
const counts = { desired: 1, synced: 0, conflicts: 0, failed: 0 };
const sharedSecret = {
  metadata: { ...identity, ...source, uid: "u", generation: 1, annotations: marks },
  spec: { data: {} },
  status: {
    observedGeneration: 1,
    sync: {
      clusters: [
        { name: "west", ...counts, reason: "ClusterUnknown", message: "there is none" },
        { name: "east", ...counts, synced: 1 },
      ],
    },
    conditions: [
      { type: "Ready", status: "True", reason: "Ready", message: "m", lastTransitionTime: at },
    ],
  },
};
const object = (place: string | undefined, name: string, rest: object = {}) => ({
  metadata: { ...identity, ...(place === undefined ? {} : { namespace: place }), name, ...rest },
});

/** A cluster `east` that lets these projects in, whose agent reports that the copy is there. */
function connected(projects: string, forbidden: readonly string[] = []): FakeObjects {
  const seen = { seen: "7", ...counts, synced: 1 };
  const report = reportText({ ...emptyReport, sources: new Map([["u", seen]]) });
  return {
    forbidden,
    objects: {
      sharedsecrets: [sharedSecret],
      namespaces: [
        object(undefined, namespace, {
          uid: "n",
          annotations: { [annotations.clusterUid]: "c" },
        }),
      ],
      secrets: [
        object("latchkey-clusters", "east", {
          uid: "c",
          labels: { [labels.cluster]: "east" },
          annotations: { [annotations.projects]: projects },
        }),
        object(namespace, outboxName(source), {
          uid: "o",
          resourceVersion: "7",
          labels: { [labels.outboxUid]: "u" },
        }),
      ],
      configmaps: [{ ...object(namespace, "report-3"), data: { [reportKey]: report } }],
      leases: [{ ...object(namespace, "latchkey-cluster-agent"), spec: { renewTime: at } }],
    },
  };
}

const clusterStates = (report: unknown): readonly string[] =>
  statesOf(report).filter((line) => !/^(?:Secret|SharedSecret|Namespace) /.test(line));

async function why(words: readonly string[], objects: FakeObjects) {
  const { code, stdout, stderr } = await runCommand({
    command: "why",
    args: [...words],
    flags: { output: "json" },
    connect: async () => fakeCluster(objects),
  });
  const report: unknown = stdout === "" ? {} : JSON.parse(stdout);
  return { code, stderr, report };
}

describe("why of a SharedSecret that names clusters", () => {
  test("answers for each of them, in the shape of every report", async () => {
    const { report } = await why(["shsec/db"], connected("web"));
    expect(clusterStates(report)).toEqual([
      "Cluster east ok Arrives",
      "Cluster west problem ClusterUnknown",
    ]);
    expect(reportProblems(report, "why")).toEqual([]);
  });

  test("says that a cluster does not let its project in", async () => {
    const { report } = await why(["shsec/db"], connected("pay"));
    expect(clusterStates(report)).toEqual([
      "Cluster east problem ProjectNotLetIn",
      "Cluster west problem ClusterUnknown",
    ]);
  });

  test("answers for one cluster with --cluster, also for one that it does not name", async () => {
    for (const [name, state] of [
      ["east", "ok Arrives"],
      ["north", "problem ClusterUnknown"],
    ]) {
      const { report } = await why(["shsec/db", `--cluster=${name}`], connected("web"));
      expect(statesOf(report)).toEqual([`Cluster ${name} ${state}`]);
    }
  });

  test("answers from the status for a user who may not list the Secrets", async () => {
    const { report } = await why(["shsec/db"], connected("web", ["secrets"]));
    expect(clusterStates(report)).toEqual([
      "Cluster west problem ClusterUnknown",
      "Cluster east ok Arrives",
    ]);
  });

  test("takes --cluster with a SharedSecret only", async () => {
    const { code, stderr } = await why(["oak/ci", "--cluster=east"], connected("web"));
    expect([code, stderr]).toEqual([2, expect.stringContaining("only for a SharedSecret")]);
  });
});
