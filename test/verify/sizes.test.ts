import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { auditLength, latchkeyRecords, mutations } from "../support/audit-log.ts";
import { admin, get, mergePatch, post } from "../support/cluster-connection.ts";
import { eventually } from "../support/eventually.ts";
import { imageNodeFlags } from "../support/image.ts";
import type { LatchkeyProcess } from "../support/latchkey-process.ts";
import {
  hasDedicatedClusters,
  settled,
  startDedicatedCluster,
  type DedicatedCluster,
} from "../support/dedicated-cluster.ts";

/** The heap limit of V8 in megabytes: less than the data of all SharedSecrets of this test. */
const heapMB = 80;
const unsynced = 60;
const targets = 20;
const kilobytes = 900;

const home = "sizes-home";
const path = (name?: string) =>
  `/apis/${apiVersion}/namespaces/${home}/sharedsecrets${name === undefined ? "" : `/${name}`}`;
const copyPath = (index: number) => `/api/v1/namespaces/sizes-${index}/secrets/big`;
const value = (): string => randomBytes(kilobytes * 1000).toString("base64");

let cluster: DedicatedCluster;
let controller: LatchkeyProcess;
const values: string[] = [];
const logs: string[] = [];

async function put(name: string, to: Readonly<Record<string, string>> = {}): Promise<void> {
  const bundle = value();
  values.push(bundle);
  await cluster.arrange(
    post(path(), {
      apiVersion,
      kind: "SharedSecret",
      metadata: { name, annotations: to },
      spec: { data: { bundle } },
    }),
  );
}

async function isCopied(index: number): Promise<boolean> {
  const [source, copy] = [
    await cluster.arrange(get(path("big"))),
    await cluster.ask(admin, get(copyPath(index))),
  ];
  const wanted = recordAt(source.spec, "data");
  return copy.code === 200 && recordAt(copy, "data").bundle === wanted.bundle;
}

/** Waits until all copies are equal to the source, byte for byte. */
async function allCopied(): Promise<void> {
  for (let index = 0; index < targets; index += 1)
    await eventually(() => isCopied(index), { what: `copy ${index}` });
}

async function start(): Promise<LatchkeyProcess> {
  const started = await cluster.run({
    nodeFlags: [...imageNodeFlags("controller"), `--max-old-space-size=${heapMB}`],
    args: ["--max-body-bytes-in-flight=4Mi"],
  });
  logs.push(started.log);
  await started.waitReady();
  return started;
}

/** Changes the data of the source, and waits until all copies have it. */
async function change(): Promise<void> {
  const bundle = value();
  values.push(bundle);
  await cluster.arrange(mergePatch(path("big"), { spec: { data: { bundle } } }));
  await allCopied();
  await settled(controller);
}

const readings = (since: number) =>
  latchkeyRecords(cluster.audit, since).filter(
    ({ stage, verb, objectRef }) =>
      stage === "ResponseComplete" && verb === "get" && objectRef?.resource === "sharedsecrets",
  );

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  for (const name of [home, ...Array.from({ length: targets }, (_, index) => `sizes-${index}`)]) {
    const inProject = {
      labels: { [labels.project]: "sizes" },
      annotations: { [annotations.sync]: "enabled" },
    };
    await cluster.arrange(
      post("/api/v1/namespaces", { metadata: { name, ...(name === home ? {} : inProject) } }),
    );
  }
  controller = await start();
});

afterAll(() => cluster?.stop());

describe.skipIf(!hasDedicatedClusters)(`a controller with a heap of ${heapMB} MB`, () => {
  it(`runs with ${unsynced} SharedSecrets of ${kilobytes} kB that are not synced`, async () => {
    const writers = [0, 1, 2, 3];
    await Promise.all(
      writers.map(async (writer) => {
        for (let index = writer; index < unsynced; index += writers.length)
          await put(`unsynced-${index}`);
      }),
    );
    await settled(controller, 400_000);
    expect((await fetch(`${controller.url}/readyz`)).status).toBe(200);
  });

  it(`copies one of them into ${targets} namespaces, and reads it once`, async () => {
    const since = auditLength(cluster.audit);
    await put("big", { [annotations.syncToProjects]: "sizes" });
    await allCopied();
    await settled(controller);
    expect(readings(since)).toHaveLength(1);
  });

  it("writes a change to all copies, and reads it once", async () => {
    const since = auditLength(cluster.audit);
    await change();
    expect(readings(since)).toHaveLength(1);
  });

  it("repairs a copy, and does not read data for up-to-date copies", async () => {
    await cluster.arrange(mergePatch(copyPath(3), { data: { bundle: "b3RoZXI=" } }));
    await eventually(() => isCopied(3), { what: "the copy to be repaired" });
    await settled(controller);
    const since = auditLength(cluster.audit);
    await cluster.arrange(mergePatch(path("big"), { spec: { description: "described anew" } }));
    await settled(controller);
    expect(readings(since)).toEqual([]);
  });

  it("restarts, writes nothing, and writes the next change to all copies", async () => {
    await controller.stop();
    const since = auditLength(cluster.audit);
    controller = await start();
    await settled(controller);
    expect(mutations(latchkeyRecords(cluster.audit, since))).toEqual([]);
    await change();
  });

  it("does not log anything about them", () => {
    const log = logs.map((file) => readFileSync(file, "utf8")).join("\n");
    expect(log).not.toContain('"level":"error"');
    expect(values.filter((text) => log.includes(text.slice(0, 24)))).toEqual([]);
  });
});
