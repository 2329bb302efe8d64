import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { beforeAll, describe, expect, it } from "vitest";
import { listAt, recordAt, stringsAt } from "../../src/api/parse.ts";
import { trustFlags } from "../../src/domain/webhook/trust-config.ts";
import { get } from "../support/cluster-connection.ts";
import { hasDedicatedClusters, startDedicatedCluster } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { buildModule, findGo, type GoModule } from "../support/go-module.ts";
import { repository } from "../support/install.ts";
import { askAs } from "../support/key-request.ts";
import { makeRoot, postKey } from "../support/latchkey-objects.ts";
import { servesOwnKinds, trustFiles } from "../support/trust.ts";
import { newKey } from "../support/webhook-cluster.ts";

/** Where the files of kube-apiserver are in the node. */
const inNode = "/etc/kubernetes/latchkey";
const file = join(repository, "config", "kind", "cluster.yaml");

const module: GoModule = {
  directory: join(repository, "test", "support", "kind-config"),
  name: "kind config",
  takes: "2 minutes",
  packages: "tool",
};

const go = findGo(module, process.env);
if (go === undefined)
  process.stderr.write("config/kind is not checked with kind and kubeadm: Go is not installed\n");

describe.skipIf(go === undefined)("config/kind/cluster.yaml", () => {
  let programs: string;
  const directory = mkdtempSync(join(tmpdir(), "kind-config-"));
  const kubeadmFile = join(directory, "kubeadm.yaml");

  /** The result of kind's own code for the configuration of kubeadm in a node. */
  const kubeadmConfig = (path: string, version = "v1.36.3") =>
    spawnSync(join(programs, "kind-config"), [path, version], { encoding: "utf8" });

  const kubeadm = (...args: string[]) =>
    spawnSync(join(programs, "kubeadm"), [...args, `--config=${kubeadmFile}`], {
      encoding: "utf8",
      env: { ...process.env, KUBEADM_INIT_DRYRUN_DIR: directory },
    });

  beforeAll(async () => {
    if (go === undefined) return;
    const report = (line: string) => void process.stderr.write(`kind config: ${line}\n`);
    programs = await buildModule(module, go, { report });
  });

  it.each(["v1.34.0", "v1.36.3", "v1.37.0"])(
    "is a cluster of kind that kubeadm accepts for %s",
    (version) => {
      const { stdout, stderr } = kubeadmConfig(file, version);
      expect(stderr).toBe("");
      writeFileSync(kubeadmFile, stdout);
      expect(kubeadm("config", "validate")).toMatchObject({ status: 0, stdout: "ok\n" });
    },
  );

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
    expect(command).toEqual(
      expect.arrayContaining([...trustFlags({ minor: 36, directory: inNode })]),
    );
    expect(command.filter((flag) => flag.startsWith("--authorization-mode"))).toEqual([]);
    expect(listAt(container, "volumeMounts")).toContainEqual({
      ...{ mountPath: inNode, name: "latchkey", readOnly: true },
    });
  });
});

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
    const extraApiServerFlags = trustFlags({ minor: 36, directory: trust });
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
