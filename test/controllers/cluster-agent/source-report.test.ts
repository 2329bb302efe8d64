import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { sourceReportReconciler } from "../../../src/controllers/cluster-agent/source-report.ts";
import { reportName, reportNumberOf } from "../../../src/domain/outbox/outbox-names.ts";
import { agentWorld } from "./agent-world.ts";
import { projectNamespace, rawCopy } from "../../support/fake-informers.ts";
import { rawObject } from "../../support/fake-list-watch.ts";
import { rawEntry, rawTombstone } from "../../support/raw-outbox.ts";
import { settled } from "../../support/test-clock.ts";

const key = "team/db";
const name = reportName(reportNumberOf("uid-db"));
const report = `clusterReport ${name} in 500 ms`;

describe("a source of the outbox", () => {
  test("is counted, and its report is enqueued once", async () => {
    const entry = rawEntry("db");
    const { world, client, reconcile, enqueued } = await agentWorld({
      entries: [entry],
      namespaces: [projectNamespace("pay"), projectNamespace("play")],
      secrets: [rawCopy("db", "pay")],
    });
    await reconcile(sourceReportReconciler, key);
    await reconcile(sourceReportReconciler, key);
    const counts = { desired: 2, synced: 1, conflicts: 0, failed: 0 };
    expect(world.memory.sourceReports.get(key)).toEqual({
      uid: "uid-db",
      reportName: name,
      failures: [],
      report: { seen: entry.metadata["resourceVersion"], ...counts },
    });
    expect(enqueued.filter((line) => line.startsWith("clusterReport"))).toEqual([report]);
    expect(client.lines).toEqual([]);
  });

  test("has an Event at a target that fails, once", async () => {
    const unmanaged = rawObject({ namespace: "pay", name: "db" });
    const { events, reconcile } = await agentWorld({
      entries: [rawEntry("db")],
      namespaces: [projectNamespace("pay")],
      secrets: [unmanaged],
    });
    await reconcile(sourceReportReconciler, key);
    await reconcile(sourceReportReconciler, key);
    expect(events).toEqual(["Conflict"]);
  });

  test("that this version does not know has no targets, and keeps its copies", async () => {
    const newer = { [annotations.outboxFormat]: "2" };
    const { world, reconcile } = await agentWorld({
      entries: [rawEntry("db", { annotations: newer })],
      namespaces: [projectNamespace("pay")],
      secrets: [rawCopy("db", "pay", { data: { password: "b3RoZXI=" } })],
    });
    await reconcile(sourceReportReconciler, key);
    expect(world.memory.sourceReports.get(key)).toMatchObject({
      report: { desired: 0, reason: "UnsupportedOption" },
    });
  });

  test("that is withdrawn is done when no copy is left", async () => {
    const entries = [rawTombstone("db")];
    const left = await agentWorld({ entries, secrets: [rawCopy("db", "pay")] });
    await left.reconcile(sourceReportReconciler, key);
    expect(left.world.memory.sourceReports.get(key)).toMatchObject({ isDone: false });
    const gone = await agentWorld({ entries });
    await gone.reconcile(sourceReportReconciler, key);
    expect(gone.world.memory.sourceReports.get(key)).toEqual({
      uid: "uid-db",
      reportName: name,
      isDone: true,
      seen: entries[0]?.metadata["resourceVersion"],
    });
  });

  test("that is withdrawn is reported as what cannot be removed", async () => {
    const kept = rawCopy("db", "pay");
    Object.assign(kept.metadata, {
      deletionTimestamp: "2026-03-01T00:00:00Z",
      finalizers: ["example.com/keep"],
    });
    const entries = [rawTombstone("db")];
    const { world, events, reconcile } = await agentWorld({ entries, secrets: [kept] });
    await reconcile(sourceReportReconciler, key);
    expect(world.memory.sourceReports.get(key)).toMatchObject({
      report: {
        seen: entries[0]?.metadata["resourceVersion"],
        desired: 0,
        reason: "RemovalBlocked",
        message: expect.stringMatching(/^pay\/db: .*"example.com\/keep"$/),
      },
    });
    expect(events).toEqual(["RemovalBlocked"]);
  });

  test("that is missing is forgotten, which is reported", async () => {
    const entry = rawEntry("db");
    const { world, entries, reconcile, enqueued } = await agentWorld({ entries: [entry] });
    await reconcile(sourceReportReconciler, key);
    entries.emit("secrets", "DELETED", entry);
    await settled();
    enqueued.length = 0;
    await reconcile(sourceReportReconciler, key);
    expect([...world.memory.sourceReports]).toEqual([]);
    expect(enqueued).toContain(report);
  });
});
