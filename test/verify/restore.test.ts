import { randomBytes } from "node:crypto";
import { cpSync, rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ask, get, mergePatch, post, remove } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { keysPath, postKey, postNamespace } from "../support/latchkey-objects.ts";
import { type ReviewClient, reviewClient } from "../support/review-client.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

/** The time until every answer is that of the restored state; docs/operations.md. */
const patience = { within: 60_000, every: 100 };
const others = "/api/v1/namespaces/home/configmaps";

let cluster: DedicatedCluster;
let proxy: TcpProxy;
let reviews: ReviewClient;

/** An API server may reject writes of custom resources for a second after it is ready. */
async function write(request: Ask): Promise<void> {
  await eventually(
    async () => {
      const { code, message } = await cluster.ask({}, request);
      if (code >= 300) throw new Error(`${code} ${message}`);
      return true;
    },
    { what: `${request.method} ${request.path}` },
  );
}

/** The current version of etcd. */
async function version(): Promise<number> {
  const { metadata } = await cluster.arrange(get(`${others}?limit=1`));
  return Number(metadata.resourceVersion);
}

/** Writes other objects until etcd has at least this version. */
async function advanceTo(least: number): Promise<void> {
  while ((await version()) < least)
    await write(post(others, { metadata: { generateName: "other-" } }));
}

async function accepts(key: string | undefined, isExpected: boolean): Promise<boolean> {
  return ((await reviews.tokenReview(key ?? "")).authenticated === true) === isExpected;
}

function areAccepted(keys: Record<string, string>, expected: Record<string, boolean>) {
  return Promise.all(
    Object.entries(expected).map(([name, isExpected]) =>
      eventually(() => accepts(keys[name], isExpected), {
        ...patience,
        what: `the key ${name} to be ${isExpected ? "accepted" : "rejected"}`,
      }),
    ),
  );
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  proxy = await startTcpProxy(Number(new URL(cluster.controlPlane.url).port));
  await write(postNamespace("home"));
  const webhook = await cluster.runWebhook({
    controlPlane: { ...cluster.controlPlane, url: `https://127.0.0.1:${proxy.port}` },
  });
  await webhook.waitReady();
  reviews = await reviewClient(webhook.webhookUrl, "kube-apiserver", (request) =>
    cluster.arrange(request),
  );
});

afterAll(async () => {
  reviews?.close();
  await cluster?.stop();
  await proxy?.stop();
});

describe.skipIf(!hasDedicatedClusters)("a webhook after a restore of etcd", () => {
  it.each<[string, (seen: number) => Promise<void>]>([
    ["behind the version that it has seen", async () => {}],
    ["at the version that it has seen", (seen) => advanceTo(seen)],
    ["past the version that it has seen", (seen) => advanceTo(seen + 100)],
  ])("accepts the keys of the restored state, %s", async (where, advance) => {
    const saved = `${cluster.controlPlane.directory}/etcd-saved`;
    const keys: Record<string, string> = {};
    for (const name of ["on", "gone", "off", "keep"]) {
      keys[name] = randomBytes(24).toString("hex");
      const spec = { user: "admin", key: keys[name], disabled: name === "on" };
      await write(postKey(`${name}-${where.split(" ")[0]}`, spec));
    }
    const pathOf = (name: string) => `${keysPath}/${name}-${where.split(" ")[0]}`;
    const disable = (name: string, disabled: boolean) =>
      write(mergePatch(pathOf(name), { spec: { disabled } }));
    await areAccepted(keys, { on: false, gone: true, off: true, keep: true });
    await cluster.controlPlane.interrupt("both", async (data) => {
      rmSync(saved, { recursive: true, force: true });
      cpSync(data, saved, { recursive: true });
    });
    await disable("on", false);
    await disable("off", true);
    await write(remove(pathOf("gone")));
    await areAccepted(keys, { on: true, gone: false, off: false, keep: true });
    await advanceTo((await version()) + (where.startsWith("behind") ? 200 : 0));
    const seen = await version();

    // The webhook finds the API server only when etcd has advanced.
    proxy.reset(1);
    await cluster.controlPlane.interrupt("both", async (data) => {
      rmSync(data, { recursive: true, force: true });
      cpSync(saved, data, { recursive: true });
    });
    await advance(seen);
    await disable("keep", true);
    expect((await version()) < seen).toBe(where.startsWith("behind"));
    proxy.reset(0);
    await areAccepted(keys, { on: false, gone: true, off: true, keep: false });
  });
});
