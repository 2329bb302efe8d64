import { describe, expect, test } from "vitest";
import type { Event } from "../../../src/api/event.ts";
import { annotations, group, labels } from "../../../src/api/names.ts";
import { copyReconciler, copyReconcilerWith } from "../../../src/controllers/kinds/copy.ts";
import { marksAsRead } from "../../../src/domain/outbox/swapped-marks.ts";
import type { TargetWrites } from "../../../src/domain/sync/target-writes.ts";
import { agentWorld } from "./agent-world.ts";
import { projectNamespace, rawCopy } from "../../support/fake-informers.ts";
import { rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import { cluster, rawEntry, rawTombstone } from "../../support/raw-outbox.ts";
import { settled } from "../../support/test-clock.ts";
import { fakeWorld } from "../../support/world.ts";

const target = "pay/db";
const namespaces = [projectNamespace("pay")];
const marksOfBoth = [annotations.syncError, annotations.clusterSyncError, annotations.copyOf];
const reconciler = (kind: TargetWrites["kind"] = "all") =>
  copyReconcilerWith(() => (kind === "all" ? { kind } : { kind, why: "because" }));

describe("an agent", () => {
  test("makes a copy of an entry with the code of the controller", async () => {
    const { client, reconcile } = await agentWorld({ entries: [rawEntry("db")], namespaces });
    await reconcile(reconciler(), target);
    expect(client.requests).toMatchObject([
      { verb: "create", ref: { namespace: "pay", name: "db" } },
    ]);
  });

  test("leaves a copy of a source that is missing", async () => {
    const secrets = [rawCopy("db", "pay")];
    const { client, reconcile, world } = await agentWorld({ entries: [], namespaces, secrets });
    expect(world.stores.keepsUnknown).toBe(true);
    await reconcile(reconciler(), target);
    expect(client.lines).toEqual([]);
  });

  test("removes a copy that is withdrawn, also where a policy is missing", async () => {
    const listed = { entries: [rawTombstone("db")], namespaces, secrets: [rawCopy("db", "pay")] };
    for (const kind of ["all", "removals"] as const) {
      const { client, reconcile } = await agentWorld(listed);
      await reconcile(reconciler(kind), target);
      expect(client.lines).toEqual(["delete secrets pay/db"]);
    }
  });

  test("leaves the copy of an entry that it does not know as it is", async () => {
    const newer = { [annotations.outboxFormat]: "2" };
    const secrets = [rawCopy("db", "pay", { data: { password: "b3RoZXI=" } })];
    const entries = [rawEntry("db", { annotations: newer })];
    const { client, reconcile } = await agentWorld({ entries, namespaces, secrets });
    await reconcile(reconciler(), target);
    expect(client.requests.every(({ verb }) => verb === "patch")).toBe(true);
  });

  test("creates nothing where a policy is missing, and removes everything when disconnected", async () => {
    const missing = await agentWorld({ entries: [rawEntry("db")], namespaces });
    await missing.reconcile(reconciler("removals"), target);
    expect(missing.client.lines).toEqual([]);
    const secrets = [rawCopy("db", "pay")];
    const cut = await agentWorld({ entries: [rawEntry("db")], namespaces, secrets });
    await cut.reconcile(reconciler("remove-all"), target);
    expect(cut.client.lines).toEqual(["delete secrets pay/db"]);
  });

  test("reads large data from the outbox when it writes a copy", async () => {
    const data = { large: "YWFh".repeat(10_000) };
    const entry = rawEntry("db", { data });
    const shared = rawObject({ namespace: "team", name: "db", uid: "uid-db" }, { spec: { data } });
    const { client, reconcile } = await agentWorld(
      { entries: [entry], namespaces },
      { answer: ({ verb }) => (verb === "get" ? shared : undefined) },
    );
    await reconcile(reconciler(), target);
    expect(client.lines).toEqual(["get sharedsecrets team/db", "create secrets pay/db"]);
  });

  test("enqueues all targets and all reports for a new leader", async () => {
    const { enqueueAll, enqueued } = await agentWorld({ entries: [rawEntry("db")], namespaces });
    await enqueueAll();
    expect(enqueued).toContain("copy pay/db low");
    expect(enqueued.filter((line) => line.startsWith("clusterReport"))).toHaveLength(16);
  });

  test("says once what a Latchkey beside it says, too: a label without effect", async () => {
    const secret = (labelled: Readonly<Record<string, string>>) =>
      rawObject(
        {
          ...{ namespace: "pay", name: "db", uid: "uid-db", labels: labelled },
          annotations: Object.fromEntries(marksOfBoth.map((key) => [key, "x"])),
        },
        { type: "Opaque", data: {} },
      );
    const wrong = secret({ [`${group}/sharedsecret`]: "db" });
    const right = secret({ [labels.outboxUid]: "uid-db" });
    const swapped = (raw: RawObject) => marksAsRead(raw, cluster) as RawObject;
    const eventsOf = async (raw: RawObject) => {
      const agent = await agentWorld({ entries: [], namespaces, secrets: [swapped(raw)] });
      await agent.reconcile(reconciler(), target);
      const central = await fakeWorld({ namespaces, secrets: [raw] });
      await central.reconcile(copyReconciler, target);
      return [agent, central].map(({ recordedEvents }) => recordedEvents);
    };
    const [ofAgent = [], ofCentral] = await eventsOf(wrong);
    expect(ofAgent).toMatchObject([{ reason: "UnknownAnnotation", subject: { uid: "uid-db" } }]);
    const identity = ({ reason, subject, deduplicationKey }: Event) => [
      ...[reason, subject.uid, deduplicationKey],
    ];
    expect(ofAgent.map(identity)).toEqual(ofCentral?.map(identity));
    expect(await eventsOf(right)).toEqual([[], []]);
  });

  test("ignores the label of a Latchkey in the cluster", async () => {
    const foreign = rawObject(
      {
        namespace: "pay",
        name: "db",
        labels: { [labels.outboxUid]: "uid-other" },
        annotations: { [annotations.copyOf]: "//team/db -> pay/db" },
      },
      { type: "Opaque", data: {} },
    );
    const listed = { entries: [rawEntry("db")], namespaces, secrets: [foreign] };
    const { client, reconcile } = await agentWorld(listed);
    await reconcile(reconciler(), target);
    await settled();
    expect(client.lines).toEqual([]);
  });
});
