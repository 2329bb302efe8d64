import { describe, expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { parseConditions, recordAt } from "../../src/api/parse.ts";
import { noteFailure } from "../../src/controllers/failures.ts";
import { outboxReconciler } from "../../src/controllers/kinds/outbox.ts";
import { sharedSecretReconciler } from "../../src/controllers/kinds/shared-secret.ts";
import type { SourceReport } from "../../src/domain/outbox/cluster-report.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";
import {
  outboxKeyOf,
  rawCluster,
  rawHeartbeat,
  rawOutboxNamespace,
  rawReportOf,
  rawSent,
  rawShared,
} from "../support/outbox-objects.ts";
import { fakeWorld } from "../support/world.ts";

const key = outboxKeyOf("db");
const base = {
  namespaces: [rawOutboxNamespace("east")],
  sharedsecrets: [rawShared("db")],
  secrets: [rawCluster("east", "web")],
};

async function written(listed: Parameters<typeof fakeWorld>[0]): Promise<RawObject> {
  const { client, reconcile } = await fakeWorld(listed);
  await reconcile(outboxReconciler, key);
  return rawSent(client.requests.at(-1)?.body);
}
const secret = await written(base);
const seen = String(secret.metadata["resourceVersion"]);
const synced: SourceReport = { seen, desired: 2, synced: 2, conflicts: 0, failed: 0 };

async function setup(listed: Partial<typeof base> & Parameters<typeof fakeWorld>[0] = {}) {
  const found = await fakeWorld({ ...base, secrets: [...base.secrets, secret], ...listed });
  const { client, clock, listWatch } = found;
  let version = 9_000_000;
  const emit = (plural: string, object: RawObject) => {
    version += 1;
    const { metadata, ...rest } = object;
    const newer = rawObject({ ...metadata, resourceVersion: String(version) }, rest);
    listWatch.emit(plural, "MODIFIED", newer);
  };
  return {
    ...found,
    emit,
    beat: () => emit("leases", rawHeartbeat(clock.now())),
    report: (changes: Partial<SourceReport> = {}) =>
      emit(
        "configmaps",
        rawReportOf("uid-db", { sources: new Map([["uid-db", { ...synced, ...changes }]]) }),
      ),
    reconcile: () => found.reconcile(sharedSecretReconciler, "team/db"),
    /** What was written to the status since the last call, if anything. */
    status: () => {
      const patch = client.requests.findLast(({ verb }) => verb === "patch")?.body;
      client.requests.length = 0;
      return patch === undefined ? undefined : recordAt(recordAt(patch, "body"), "status");
    },
  };
}

const reasonIn = (status: unknown) =>
  parseConditions(status).find(({ type }) => type === "ClustersSynced")?.reason;

describe("the status of a source", () => {
  test("says what the agent reports of the current Secret", async () => {
    const { beat, report, reconcile, status } = await setup();
    beat();
    report();
    await reconcile();
    const found = status();
    expect(recordAt(found, "sync")).toMatchObject({
      clusters: [{ name: "east", desired: 2, synced: 2, conflicts: 0, failed: 0 }],
      clusterCounts: { named: 1, synced: 1 },
    });
    expect(reasonIn(found)).toBe("Synced");
  });

  test("does not take a report about an earlier Secret for the current one", async () => {
    const { beat, report, reconcile, status } = await setup();
    beat();
    report({ seen: "1" });
    await reconcile();
    expect(reasonIn(status())).toBe("Progressing");
  });

  test("says nothing of clusters without the annotation", async () => {
    const { reconcile, status } = await setup({
      sharedsecrets: [rawShared("db", { clusters: "" })],
    });
    await reconcile();
    const found = status();
    expect([recordAt(found, "sync")["clusters"], reasonIn(found)]).toEqual([undefined, undefined]);
  });

  test.for<[string, Parameters<typeof fakeWorld>[0], string]>([
    ["ClusterUnknown", { secrets: [] }, "ClusterUnknown"],
    ["OutboxMissing", { namespaces: [rawOutboxNamespace("east", "uid-former")] }, "OutboxMissing"],
    ["ProjectNotLetIn", { secrets: [rawCluster("east", "ops")] }, "ProjectNotLetIn"],
  ])("has the reason %s", async ([, listed, reason]) => {
    const { reconcile, status } = await setup(listed);
    await reconcile();
    expect(reasonIn(status())).toBe(reason);
  });

  test('means by "*" only clusters with an outbox', async () => {
    const { reconcile, status } = await setup({
      sharedsecrets: [rawShared("db", { clusters: "*" })],
      secrets: [...base.secrets, rawCluster("west", "web"), secret],
    });
    await reconcile();
    expect(recordAt(status(), "sync")).toMatchObject({
      clusters: [{ name: "east" }],
      clusterCounts: { named: 1 },
    });
  });

  test("says ClusterUnreachable only without a current report", async () => {
    const { beat, clock, report, reconcile, status } = await setup();
    beat();
    report({ synced: 1 });
    clock.advance(91_000);
    await reconcile();
    expect(reasonIn(status())).toBe("ClusterUnreachable");
    report();
    clock.advance(91_000);
    await reconcile();
    expect(reasonIn(status())).toBe("Synced");
  });

  test("says other counts of clusters at most once in 10 s, and the last ones", async () => {
    const { beat, clock, report, reconcile, status } = await setup();
    beat();
    report({ synced: 0 });
    await reconcile();
    expect(reasonIn(status())).toBe("Progressing");
    clock.advance(4_000);
    report();
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: clock.now() + 6_000 });
    expect(reasonIn(status())).not.toBe("Synced");
    clock.advance(6_000);
    expect(await reconcile()).toEqual({ kind: "done" });
    expect(reasonIn(status())).toBe("Synced");
  });

  test("says at once what becomes of another generation", async () => {
    const { beat, emit, report, reconcile, status } = await setup();
    beat();
    report();
    await reconcile();
    expect(reasonIn(status())).toBe("Synced");
    emit("sharedsecrets", rawShared("db", { generation: 2, data: { password: "b3RoZXI=" } }));
    await reconcile();
    expect(reasonIn(status())).toBe("Progressing");
  });

  test("says that the outbox refuses its Secret", async () => {
    const { world, reconcile, status } = await setup({ secrets: base.secrets });
    const failure = { kind: "refused", reason: "Forbidden", message: "exceeded quota" } as const;
    noteFailure(outboxReconciler, key, failure, world);
    await reconcile();
    expect(JSON.stringify(recordAt(status(), "sync")["clusters"])).toContain("exceeded quota");
  });
});

describe("a source that is deleted", () => {
  const deleting = rawShared("db", {
    deletionTimestamp: "2026-02-01T00:00:00Z",
    annotations: {
      [annotations.syncToProjects]: "web",
      [annotations.syncToClusters]: "east",
    },
  });

  test("waits for a cluster that is heard, at most 30 s, and then records an Event", async () => {
    const { beat, client, clock, events, reconcile } = await setup({ sharedsecrets: [deleting] });
    beat();
    const releases = () =>
      client.requests.filter(({ body }) => JSON.stringify(body).includes("finalizers"));
    expect(await reconcile()).toEqual({ kind: "requeue-at", at: clock.now() + 30_000 });
    expect(releases()).toEqual([]);
    clock.advance(30_000);
    beat();
    await reconcile();
    expect([releases().length, events]).toEqual([1, ["ClusterUnreachable"]]);
  });

  test("does not wait for a cluster that is not heard", async () => {
    const { beat, client, clock, events, reconcile } = await setup({ sharedsecrets: [deleting] });
    beat();
    clock.advance(31_000);
    await reconcile();
    expect(JSON.stringify(client.requests.map(({ body }) => body))).toContain("finalizers");
    expect(events).toEqual(["ClusterUnreachable"]);
  });

  test("goes at once when no outbox has a Secret of it", async () => {
    const listed = { sharedsecrets: [deleting], secrets: base.secrets };
    const { beat, client, events, reconcile } = await setup(listed);
    beat();
    await reconcile();
    expect(JSON.stringify(client.requests.map(({ body }) => body))).toContain("finalizers");
    expect(events).toEqual([]);
  });
});
