import { describe, expect, test } from "vitest";
import { recordAt, stringMapAt } from "../../src/api/parse.ts";
import type { Patch } from "../../src/kube/client/client.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { PublishedClusterList } from "../../src/gateway/published-cluster-list.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { FakeListWatch, rawObject, type RawObject } from "../support/fake-list-watch.ts";
import { recordingLog } from "../support/recording-log.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const namespace = "latchkey-system";
const certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const repairMs = 60_000;

/** The ConfigMap with this data. */
const configMap = (data: Readonly<Record<string, string>> = {}): RawObject =>
  rawObject({ name: "latchkey-clusters", namespace }, { data });

interface Setting {
  readonly names?: readonly string[];
  /** How many patches are refused with a conflict. */
  readonly conflicts?: number;
  readonly listed?: readonly RawObject[];
}

/** A replica's writer, and what it sends; the API server stores what it patches. */
async function publishing({
  names = ["east"],
  conflicts = 0,
  listed = [configMap()],
}: Setting = {}) {
  const [clock, stop, log] = [new TestClock(), new AbortController(), recordingLog()];
  const listWatch = new FakeListWatch({ configmaps: listed });
  const state: { names: readonly string[] | undefined; conflicts: number } = { names, conflicts };
  const patches: Patch[] = [];
  const stored = new Map(listed.flatMap((map) => Object.entries(stringMapAt(map, "data"))));
  /** What another writer writes. */
  const writeElsewhere = (name: string, text: string): void => {
    stored.set(name, text);
    listWatch.emit("configmaps", "MODIFIED", configMap(Object.fromEntries(stored)));
  };
  const list = new PublishedClusterList(
    {
      listWatch,
      clock,
      log,
      yielder: new Yielder(clock),
      random: () => 0.5,
      metrics: createMetrics(),
      clusters: {
        listed: () => state.names && new Map(state.names.map((name) => [name, undefined])),
        synced: Promise.resolve(),
      },
      client: {
        async patch(_resource, _ref, patch) {
          patches.push(patch);
          if (state.conflicts-- > 0)
            throw new KubeError("conflict", { code: "Conflict", status: 409 });
          for (const [name, text] of Object.entries(recordAt(patch.body, "data")))
            if (typeof text === "string") stored.set(name, text);
            else stored.delete(name);
          return configMap(Object.fromEntries(stored));
        },
      },
    },
    { namespace, externalUrl: undefined },
  );
  const running = list.run(stop.signal);
  await settled();
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  const written = (): readonly (readonly string[])[] =>
    patches.map(({ body }) => Object.keys(recordAt(body, "data")));
  return { list, listWatch, clock, log, state, stored, writeElsewhere, patches, written, end };
}

describe("the published list of connected clusters", () => {
  test("is written when the clusters and the CA are known, with the version as precondition", async () => {
    const map = configMap();
    const { list, patches, end } = await publishing({ listed: [map] });
    expect(patches).toEqual([]);
    list.useCa(certificate);
    await settled();
    const { resourceVersion, uid } = map.metadata;
    expect(patches).toMatchObject([
      { body: { metadata: { resourceVersion, uid }, data: { east: expect.any(String) } } },
    ]);
    await end();
  });

  test("is not written before the Secrets are listed", async () => {
    const { list, state, patches, written, end } = await publishing();
    state.names = undefined;
    list.useCa(certificate);
    await settled();
    expect(patches).toEqual([]);
    state.names = ["east"];
    list.changed();
    await settled();
    expect(written()).toEqual([["east"]]);
    await end();
  });

  test("is not written where the ConfigMap does not exist, and when it is created", async () => {
    const { list, listWatch, patches, written, end } = await publishing({ listed: [] });
    list.useCa(certificate);
    await settled();
    expect(patches).toEqual([]);
    listWatch.emit("configmaps", "ADDED", configMap());
    await settled();
    expect(written()).toEqual([["east"]]);
    await end();
  });

  test("is written after every change of the clusters, at once, and not without one", async () => {
    const { list, state, written, end } = await publishing();
    list.useCa(certificate);
    await settled();
    state.names = ["east", "west"];
    list.changed();
    await settled();
    list.changed();
    await settled();
    expect(written()).toEqual([["east"], ["west"]]);
    await end();
  });

  test("is not written where another replica wrote the same", async () => {
    const first = await publishing();
    first.list.useCa(certificate);
    await settled();
    const data = recordAt(first.patches[0]?.body, "data");
    await first.end();
    const second = await publishing({ listed: [rawObject(configMap().metadata, { data })] });
    second.list.useCa(certificate);
    await settled();
    expect(second.patches).toEqual([]);
    await second.end();
  });

  test("is written again after a conflict", async () => {
    const { list, clock, written, end } = await publishing({ conflicts: 1 });
    list.useCa(certificate);
    await clock.run(1_000);
    expect(written()).toEqual([["east"], ["east"]]);
    await end();
  });

  test("replaces what another writer wrote, after a wait, so that two replicas do not fight", async () => {
    const { list, clock, stored, writeElsewhere, written, end } = await publishing();
    list.useCa(certificate);
    await settled();
    writeElsewhere("foreign", "x");
    await clock.run(repairMs - 1);
    expect(written()).toEqual([["east"]]);
    await clock.run(1);
    expect(written()).toEqual([["east"], ["foreign"]]);
    expect([...stored.keys()]).toEqual(["east"]);
    await end();
  });

  test("replaces what another writer writes again and again at most once in five minutes", async () => {
    const { list, clock, writeElsewhere, written, end } = await publishing();
    list.useCa(certificate);
    await settled();
    const waits: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      writeElsewhere("foreign", `${round}`);
      const [before, from] = [written().length, clock.monotonic()];
      while (written().length === before) await clock.run(10_000);
      waits.push((clock.monotonic() - from) / 60_000);
    }
    expect(waits).toEqual([1, 2, 4, 5, 5, 5]);
    await end();
  });

  test("logs how many clusters it leaves out, once", async () => {
    const names = Array.from({ length: 9_000 }, (_, index) => `cluster-${index}`);
    const { list, log, end } = await publishing({ names });
    list.useCa(certificate);
    await settled();
    list.changed();
    await settled();
    expect(log.lines).toMatchObject([{ level: "warn", fields: { count: names.length } }]);
    await end();
  });
});
