import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { resources } from "../../../src/api/resources.ts";
import {
  mostEntries,
  outboxListWatch,
  swappedListWatch,
} from "../../../src/controllers/cluster-agent/translated-list-watch.ts";
import type { ListOptions } from "../../../src/kube/informer/list-options.ts";
import type { ListWatch } from "../../../src/kube/informer/list-watch.ts";
import { rawKey } from "../../../src/kube/informer/raw-object.ts";
import type { WatchEvent } from "../../../src/kube/informer/watch-stream.ts";
import { FakeListWatch, rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import { cluster, outbox, rawEntry, rawTombstone } from "../../support/raw-outbox.ts";
import { settled } from "../../support/test-clock.ts";

const sources = { resource: resources.sharedSecrets };
const stop = new AbortController();
const from = { resourceVersion: "1", timeoutSeconds: 20, openMs: 1, signal: stop.signal };

async function listed(listWatch: ListWatch, selection: ListOptions): Promise<unknown[]> {
  const seen: WatchEvent[] = [];
  await listWatch.list(selection, stop.signal, async (events) => void seen.push(...events));
  return seen.map(({ object }) => object);
}

function watched(listWatch: ListWatch, selection: ListOptions): WatchEvent[] {
  const seen: WatchEvent[] = [];
  const start = { ...from, onOpen: () => {} };
  void listWatch.watch(selection, start, (events) => void seen.push(...events));
  return seen;
}

const copy = (marks: Readonly<Record<string, string>>, copyOf: string): RawObject =>
  rawObject({
    namespace: "pay",
    name: "db",
    labels: marks,
    annotations: { [annotations.copyOf]: copyOf },
  });
const own = copy({ [labels.outboxUid]: "uid-db" }, "east//team/db -> pay/db");
const foreign = copy({ [labels.sourceUid]: "uid-other" }, "team/db -> pay/db");
const asOwn = {
  labels: { [labels.sourceUid]: "uid-db" },
  annotations: { [annotations.copyOf]: "team/db -> pay/db" },
};

describe("the Secrets of a connected cluster", () => {
  const copies = { resource: resources.secrets, labelSelector: labels.sourceUid };

  test("are selected by the marks of the agent, and read as copies", async () => {
    const listWatch = swappedListWatch(new FakeListWatch({ secrets: [own, foreign] }), cluster);
    expect(await listed(listWatch, copies)).toMatchObject([{ metadata: asOwn }]);
    expect(await listWatch.get(copies, { namespace: "pay", name: "db" })).toMatchObject({
      metadata: asOwn,
    });
  });

  test("that a Latchkey of the cluster manages are no copies for the agent", async () => {
    const listWatch = swappedListWatch(new FakeListWatch({ secrets: [own, foreign] }), cluster);
    const others = { ...copies, labelSelector: `!${labels.sourceUid}` };
    expect(await listed(listWatch, others)).toMatchObject([
      {
        metadata: {
          labels: { [labels.outboxUid]: "uid-other" },
          annotations: { [annotations.copyOf]: "//team/db -> pay/db" },
        },
      },
    ]);
  });

  test("arrive in a watch with the same marks", () => {
    const fake = new FakeListWatch({});
    const seen = watched(swappedListWatch(fake, cluster), copies);
    fake.emit("secrets", "MODIFIED", own);
    fake.emit("secrets", "MODIFIED", foreign);
    expect(seen).toMatchObject([{ type: "MODIFIED", object: { metadata: asOwn } }]);
  });

  test("objects of other kinds stay as they are", async () => {
    const namespace = rawObject({ name: "pay", labels: { [labels.sourceUid]: "x" } });
    const listWatch = swappedListWatch(new FakeListWatch({ namespaces: [namespace] }), cluster);
    expect(await listed(listWatch, { resource: resources.namespaces })).toEqual([namespace]);
  });
});

describe("an outbox", () => {
  const over = (...secrets: readonly RawObject[]) => {
    const excess: boolean[] = [];
    const fake = new FakeListWatch({ secrets });
    const onExcess = (isExcessive: boolean): void => void excess.push(isExcessive);
    return { fake, excess, listWatch: outboxListWatch(fake, { cluster, onExcess }) };
  };

  test("is read as SharedSecrets, without what is no entry or of another namespace", async () => {
    const elsewhere = rawObject({
      ...rawEntry("far").metadata,
      namespace: "latchkey-cluster-west",
    });
    const { listWatch } = over(rawEntry("db"), rawEntry("tls", { type: "Opaque" }), elsewhere);
    const found = await listed(listWatch, sources);
    expect(found.map(rawKey)).toEqual(["team/db"]);
    expect(found).toMatchObject([
      { metadata: { uid: "uid-db" }, spec: { data: { password: "Y2FuYXJ5" } } },
    ]);
  });

  test("has a SharedSecret that names nothing for what is withdrawn", async () => {
    const [found] = await listed(over(rawTombstone("db")).listWatch, sources);
    expect(found).toMatchObject({ metadata: { uid: "uid-db" }, spec: { data: {} } });
    expect(JSON.stringify(found)).not.toContain(annotations.syncToProjects);
  });

  test("names what this version does not know", async () => {
    const { listWatch } = over(
      rawEntry("db", { annotations: { [annotations.outboxFormat]: "2" } }),
    );
    expect(await listed(listWatch, sources)).toMatchObject([
      { unsupported: annotations.outboxFormat },
    ]);
  });

  test("has no entry with more options than a central cluster reads", async () => {
    const huge = { [annotations.copyAnnotations]: "x".repeat(64 * 1024) };
    const { listWatch } = over(rawEntry("db", { annotations: huge }), rawEntry("tls"));
    expect((await listed(listWatch, sources)).map(rawKey)).toEqual(["team/tls"]);
  });

  test("has at most 20,000 entries", async () => {
    const many = Array.from({ length: mostEntries + 1 }, (_, number) => rawEntry(`db-${number}`));
    const { listWatch, excess } = over(...many);
    expect(await listed(listWatch, sources)).toHaveLength(mostEntries);
    const few = over(...many.slice(0, 10));
    await listed(few.listWatch, sources);
    expect([excess, few.excess]).toEqual([[true], [false]]);
  });

  test("goes on after a change to what is no entry", async () => {
    const { fake, listWatch } = over();
    const seen = watched(listWatch, sources);
    const broken = rawEntry("db", { type: "Opaque" });
    fake.emit("secrets", "MODIFIED", broken);
    fake.emit("secrets", "DELETED", rawEntry("tls"));
    await settled();
    const { resourceVersion } = broken.metadata;
    expect(seen[0]).toEqual({ type: "BOOKMARK", object: { metadata: { resourceVersion } } });
    expect([seen[1]?.type, rawKey(seen[1]?.object)]).toEqual(["DELETED", "team/tls"]);
  });

  test("gives one source by its name, unless its Secret is that of another one", async () => {
    const { listWatch, fake } = over(rawEntry("db"));
    expect(await listWatch.get(sources, { namespace: "team", name: "db" })).toMatchObject({
      metadata: { uid: "uid-db" },
    });
    expect(await listWatch.get(sources, { namespace: "team", name: "gone" })).toBeUndefined();
    expect(fake.reads.every((read) => read.startsWith(`secrets whole ${outbox}/`))).toBe(true);
  });
});
