import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { trustFlags } from "../../src/domain/webhook/trust-config.ts";
import { get } from "../support/cluster-connection.ts";
import { hasDedicatedClusters, startDedicatedCluster } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { repository } from "../support/install.ts";
import { askAs } from "../support/key-request.ts";
import { makeRoot, postKey } from "../support/latchkey-objects.ts";
import { servesOwnKinds, trustFiles } from "../support/trust.ts";
import { newKey } from "../support/webhook-cluster.ts";

it("make kind names the programs that are not on PATH, and creates nothing", () => {
  const args = [join(repository, "release", "kind", "main.ts")];
  const env = { ...process.env, PATH: "/nonexistent" };
  expect(spawnSync(process.execPath, args, { env, encoding: "utf8" })).toMatchObject({
    status: 1,
    stdout: "",
    stderr:
      "make kind: docker, kind, helm, kubectl: not found on PATH; `make dev` needs none of them\n",
  });
});

describe.skipIf(!hasDedicatedClusters)("a kube-apiserver with the flags of config/kind", () => {
  it("starts before Latchkey, and accepts keys once it has the files of trust-config", async () => {
    const directory = mkdtempSync(join(tmpdir(), "kind-files-"));
    const trust = join(directory, "trust");
    cpSync(join(repository, "config", "kind", "first-start"), trust, { recursive: true });
    const extraApiServerFlags = trustFlags(trust);
    const cluster = await startDedicatedCluster({ extraApiServerFlags });
    try {
      const { controlPlane } = cluster;
      await cluster.arrange(makeRoot);
      const key = newKey();
      const code = async () => (await askAs(controlPlane, key, get("/api/v1/namespaces"))).code;
      expect(await code()).toBe(401);

      const webhook = await cluster.runWebhook();
      await webhook.waitReady();
      const { adminKubeconfig } = controlPlane;
      const flags = await trustFiles({ adminKubeconfig, directory }, webhook);
      expect(flags).toEqual(extraApiServerFlags);
      await controlPlane.restartApiServer([]);
      await servesOwnKinds(controlPlane);
      await cluster.arrange(postKey("kind", { user: "root", key }));
      await eventually(async () => (await code()) === 200, { what: "the key to work" });
    } finally {
      await cluster.stop();
    }
  });
});
