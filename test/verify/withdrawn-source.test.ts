import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { get, mergePatch, post, remove } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import { postNamespace } from "../support/latchkey-objects.ts";
import type { ControllerProcess } from "../support/latchkey-process.ts";

const project = "web";
const target = "web-target";
const sources = "/apis/management.service/v1/namespaces/default/sharedsecrets";
const paused = { [annotations.disableSync]: "true" };
const syncs = { [annotations.syncToProjects]: project };

let cluster: DedicatedCluster;
let proxy: FaultProxy;
let controller: ControllerProcess;
/** What a create of a copy waits for at the proxy. */
let held: PromiseWithResolvers<void> | undefined;

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  proxy = await FaultProxy.before(cluster.controlPlane, {
    async write({ method, plural, namespace }, forward) {
      if (method === "POST" && plural === "secrets" && namespace === target) await held?.promise;
      return forward();
    },
  });
  controller = await cluster.run({ controlPlane: { ...cluster.controlPlane, url: proxy.url } });
  const metadata = {
    labels: { [labels.project]: project },
    annotations: { [annotations.sync]: "enabled" },
  };
  await cluster.arrange(postNamespace({ name: target, ...metadata }));
});

afterEach(() => held?.resolve());

afterAll(async () => {
  await cluster?.stop();
  proxy?.kill();
});

async function make(name: string, given: Readonly<Record<string, string>> = syncs) {
  const metadata = { name, annotations: given };
  const spec = { data: { password: Buffer.from("data").toString("base64") } };
  return cluster.arrange(post(sources, { apiVersion, kind: "SharedSecret", metadata, spec }));
}

const copyPath = (name: string) => `/api/v1/namespaces/${target}/secrets/${name}`;
const codeAt = async (path: string) => (await cluster.ask({}, get(path))).code;
const becomes = (path: string, code: 200 | 404) =>
  eventually(async () => (await codeAt(path)) === code, { what: `${path} to be ${code}` });

async function makeWithCopy(name: string): Promise<void> {
  await make(name);
  await becomes(copyPath(name), 200);
}

const relabel = (name: string) =>
  cluster.arrange(
    mergePatch(copyPath(name), { metadata: { labels: { [labels.sourceUid]: "another-uid" } } }),
  );

describe.skipIf(!hasDedicatedClusters)("data of a deleted source does not stay", () => {
  it.each([
    ["kept", undefined],
    ["removed by hand", { metadata: { finalizers: null } }],
  ])(
    "in a copy that gets another label while no controller runs; finalizer: %s",
    async (what, patch) => {
      const name = `away-${what.split(" ")[0]}`;
      await makeWithCopy(name);
      const exited = controller.exited();
      controller.kill("SIGKILL");
      await exited;
      await relabel(name);
      await cluster.arrange(remove(`${sources}/${name}`));
      if (patch !== undefined) await cluster.arrange(mergePatch(`${sources}/${name}`, patch));
      controller.start();
      await becomes(copyPath(name), 404);
      await becomes(`${sources}/${name}`, 404);
    },
  );

  it("in a copy whose create was in transit while its source was deleted and created again", async () => {
    const name = "in-transit";
    await makeWithCopy(name);
    held = Promise.withResolvers<void>();
    const before = await cluster.arrange(get(copyPath(name)));
    await cluster.arrange(remove(copyPath(name)));
    await eventually(() => proxy.inFlight > 0, { what: "the create of the copy" });
    await cluster.arrange(remove(`${sources}/${name}`));
    await becomes(`${sources}/${name}`, 404);
    await make(name, { ...syncs, ...paused });
    held.resolve();
    await becomes(copyPath(name), 200);
    const copy = await cluster.arrange(get(copyPath(name)));
    expect(copy.metadata.labels).toEqual(before.metadata.labels);
    await cluster.arrange(remove(`${sources}/${name}`));
    await becomes(copyPath(name), 404);
  });
});
