import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { describe, expect, it } from "vitest";
import { listAt, recordAt, stringAt, stringsAt } from "../../src/api/parse.ts";
import { trustFlags } from "../../src/domain/webhook/trust-config.ts";
import { get } from "../support/cluster-connection.ts";
import { hasDedicatedClusters, startDedicatedCluster } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { buildModule } from "../support/go-module.ts";
import { repository } from "../support/install.ts";
import { askAs } from "../support/key-request.ts";
import { kindConfigModule } from "../support/kind-config.ts";
import { makeRoot, postKey } from "../support/latchkey-objects.ts";
import { orMissing, present } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";
import { servesOwnKinds, trustFiles } from "../support/trust.ts";
import { newKey } from "../support/webhook-cluster.ts";

/** Where the files of kube-apiserver are in the node. */
const inNode = "/etc/kubernetes/latchkey";
const file = join(repository, "config", "kind", "cluster.yaml");
const programs = await orMissing(buildModule(kindConfigModule, { report: () => {} }));

describe("config/kind/cluster.yaml", skippedWithout(programs), () => {
  const directory = mkdtempSync(join(tmpdir(), "kind-config-"));
  const kubeadmFile = join(directory, "kubeadm.yaml");

  /** The result of kind's own code for the configuration of kubeadm in a node. */
  const kubeadmConfig = (path: string, version = "v1.37.2") =>
    spawnSync(join(present(programs), "kind-config"), [path, version], { encoding: "utf8" });

  const kubeadm = (...args: string[]) =>
    spawnSync(join(present(programs), "kubeadm"), [...args, `--config=${kubeadmFile}`], {
      encoding: "utf8",
      env: { ...process.env, KUBEADM_INIT_DRYRUN_DIR: directory },
    });

  it.each(["v1.36.3", "v1.37.2"])("is a cluster of kind that kubeadm accepts for %s", (version) => {
    const { stdout, stderr } = kubeadmConfig(file, version);
    expect(stderr).toBe("");
    writeFileSync(kubeadmFile, stdout);
    expect(kubeadm("config", "validate")).toMatchObject({ status: 0, stdout: "ok\n" });
  });

  // kubeadm 1.37 does not read the format that kind writes for 1.35.
  it("has the same flags of kube-apiserver for v1.35.4", () => {
    const flagsFor = (version: string) => apiServerFlags(kubeadmConfig(file, version).stdout);
    expect(flagsFor("v1.35.4")).toEqual(flagsFor("v1.36.3"));
    expect(flagsFor("v1.35.4")).toHaveProperty("authorization-config");
  });

  it.each([
    ["extraMounts", "extraMount", "field extraMount not found in type v1alpha4.Node"],
    ["role: control-plane", "role: control", `"control" is not a valid node role`],
  ])("is refused by kind with %s misspelled", (right, wrong, message) => {
    const misspelled = join(directory, "cluster.yaml");
    writeFileSync(misspelled, readFileSync(file, "utf8").replace(right, wrong));
    expect(kubeadmConfig(misspelled)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(message),
    });
  });

  it("gives kube-apiserver the flags and files of kubectl latchkey trust-config", () => {
    writeFileSync(kubeadmFile, kubeadmConfig(file).stdout);
    expect(kubeadm("init", "phase", "control-plane", "apiserver", "--dry-run").status).toBe(0);
    const [pod] = loadAll(readFileSync(join(directory, "kube-apiserver.yaml"), "utf8"));
    const spec = recordAt(pod, "spec");
    const [container] = listAt(spec, "containers");
    const command = stringsAt(container, "command");
    expect(command).toEqual(expect.arrayContaining([...trustFlags(inNode)]));
    expect(command.filter((flag) => flag.startsWith("--authorization-mode"))).toEqual([]);
    expect(listAt(container, "volumeMounts")).toContainEqual({
      mountPath: inNode,
      name: "latchkey",
      readOnly: true,
    });
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

/** The flags of kube-apiserver in a configuration of kubeadm: a map in v1beta3, then a list. */
function apiServerFlags(config: string): Readonly<Record<string, unknown>> {
  const cluster = loadAll(config).find(
    (document) => stringAt(document, "kind") === "ClusterConfiguration",
  );
  const apiServer = recordAt(cluster, "apiServer");
  const listed = listAt(apiServer, "extraArgs").map((entry) => [
    stringAt(entry, "name") ?? "",
    stringAt(entry, "value"),
  ]);
  return { ...recordAt(apiServer, "extraArgs"), ...Object.fromEntries(listed) };
}
