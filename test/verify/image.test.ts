import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildImage, type ImageReport } from "../../release/image/build-image.ts";
import { type Platform, platforms } from "../../release/image/pins.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { runConfig } from "../support/image.ts";
import { findBubblewrap, inImage } from "./image-sandbox.ts";
import { apply, repository } from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import { startTiedChild, type TiedChild } from "../support/tied-child.ts";
import { findOrBuildTools } from "../support/tools.ts";

const run = promisify(execFile);
const report = (line: string) => void process.stderr.write(`image: ${line}\n`);
const canBuild = ["apt-get", "dpkg-deb"].every((program) => existsSync(`/usr/bin/${program}`));
if (!canBuild) report("skipped: apt-get and dpkg-deb of Debian are not installed");
const bubblewrap = canBuild ? await findBubblewrap(report) : { missing: "no image" };
if (typeof bubblewrap !== "string") report(`its processes are skipped: ${bubblewrap.missing}`);

let scratch: string;
let built: ImageReport;
let registry: TiedChild;
let reference: string;
let crane: (...args: readonly string[]) => Promise<string>;

beforeAll(async () => {
  if (!canBuild) return;
  scratch = mkdtempSync(join(tmpdir(), "latchkey-image-"));
  const tools = await findOrBuildTools(report);
  crane = async (...args) => (await run(tools.crane, args)).stdout.trim();
  built = await buildImage(join(scratch, "image"), report);
  const address = `127.0.0.1:${await freePort()}`;
  registry = startTiedChild([tools.crane, "registry", "serve", `--address=${address}`], {
    log: join(scratch, "registry.log"),
    removeWithParent: scratch,
  });
  reference = `${address}/latchkey`;
  const push = () => crane("push", join(scratch, "image"), reference);
  await eventually(push, { what: "the registry to take the image" });
});

afterAll(async () => {
  await registry?.stop();
  if (canBuild) rmSync(scratch, { recursive: true, force: true });
});

/** The image of a platform, unpacked by crane. */
async function unpacked({ name }: Pick<Platform, "name">): Promise<string> {
  const root = join(scratch, `root-${name}`);
  if (existsSync(root)) return root;
  mkdirSync(root);
  await crane("export", `--platform=linux/${name}`, reference, `${root}.tar`);
  await run("tar", ["--extract", `--file=${root}.tar`, `--directory=${root}`]);
  return root;
}

describe.skipIf(!canBuild)("the image", () => {
  it("has the same digest when each of its parts is downloaded and built again", async () => {
    const again = await run(
      process.execPath,
      [join("release", "image", "main.ts"), join(scratch, "again")],
      { cwd: repository, env: { ...process.env, XDG_CACHE_HOME: join(scratch, "cache") } },
    );
    expect(again.stdout).toContain(`@${built.index.digest}\n`);
    const names = ["index.json", "oci-layout"];
    const read = (directory: string) =>
      names.map((name) => readFileSync(join(scratch, directory, name), "utf8"));
    expect(read("again")).toEqual(read("image"));
  });

  it("is an index of two platforms, which crane finds valid in a registry", async () => {
    expect(await crane("digest", reference)).toBe(built.index.digest);
    expect(await crane("validate", `--remote=${reference}`)).toContain("PASS");
    const index: unknown = JSON.parse(await crane("manifest", reference));
    expect(listAt(index, "manifests").map((one) => recordAt(one, "platform"))).toEqual([
      { os: "linux", architecture: "amd64" },
      { os: "linux", architecture: "arm64" },
    ]);
  });

  it.each(platforms)("starts on $name as the Dockerfile says", async ({ name }) => {
    const config: unknown = JSON.parse(
      await crane("config", `--platform=linux/${name}`, reference),
    );
    expect(recordAt(config, "config")).toEqual(runConfig());
    expect(stringAt(config, "architecture")).toBe(name);
  });

  it.each([
    { name: "amd64", machine: 62, loader: "lib64/ld-linux-x86-64.so.2" },
    { name: "arm64", machine: 183, loader: "lib/ld-linux-aarch64.so.1" },
  ] as const)(
    "has the programs of $name, and no shell",
    async ({ machine, loader, ...platform }) => {
      const root = await unpacked(platform);
      const machines = ["nodejs/bin/node", loader].map((path) =>
        // e_machine of the ELF header (elf(5)).
        readFileSync(join(root, path)).readUInt16LE(18),
      );
      expect(machines).toEqual([machine, machine]);
      expect(
        ["bin/sh", "usr/bin/sh", "usr/bin/env"].filter((p) => existsSync(join(root, p))),
      ).toEqual([]);
    },
  );

  it.each(platforms)("has no file of $name that a user of a platform may not read", async (one) => {
    const closed = ["!", "-type", "l", "!", "-perm", "-o=r"];
    const { stdout } = await run("find", [await unpacked(one), "-mindepth", "1", ...closed]);
    expect(stdout).toBe("");
  });
});

/** Prints its user and capabilities, and the directories in which it could make another one. */
const probe = `
const { mkdtempSync, readdirSync, readFileSync } = require("node:fs");
const status = readFileSync("/proc/self/status", "utf8");
const field = (name) => status.split("\\n").find((line) => line.startsWith(name + ":"))?.split(/\\s+/).slice(1).join(" ");
const writable = [];
function visit(directory) {
  try { mkdtempSync(directory + "probe-"); writable.push(directory); } catch {}
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = directory + entry.name + "/";
    if (entry.isDirectory() && !["/proc/", "/sys/", "/dev/"].includes(path)) visit(path);
  }
}
visit("/");
console.log(JSON.stringify({ writable, uid: field("Uid"), capabilities: field("CapEff"), noNewPrivileges: field("NoNewPrivs") }));`;

describe.skipIf(typeof bubblewrap !== "string" || !hasDedicatedClusters)(
  "processes of the image, read-only and without capabilities",
  () => {
    const { Entrypoint, Env } = runConfig();
    const native = platforms.find(({ node }) => node.endsWith(process.arch));
    let cluster: DedicatedCluster;
    let root: string;

    beforeAll(async () => {
      if (native === undefined) throw new Error(`the image has no platform for ${process.arch}`);
      [root, cluster] = await Promise.all([unpacked(native), startDedicatedCluster()]);
    });

    afterAll(() => cluster?.stop());

    const sandbox = (visible: string) =>
      typeof bubblewrap === "string" ? inImage(bubblewrap, root, visible) : [];
    const env = Object.fromEntries(Env.map((entry) => entry.split("=")));

    /** The options of a process whose token and kubeconfig are all that it sees of this machine. */
    function options(name: string) {
      const directory = join(cluster.controlPlane.directory, name);
      mkdirSync(directory);
      const log = join(cluster.controlPlane.directory, `${name}.log`);
      return { directory, log, env, command: [...sandbox(directory), ...Entrypoint] };
    }

    it("have the user 65532, no capability, and nowhere to write", async () => {
      const [node = ""] = Entrypoint;
      const empty = join(scratch, "empty");
      mkdirSync(empty);
      const [program = "", ...words] = sandbox(empty);
      const { stdout } = await run(program, [...words, node, "--eval", probe]);
      expect(JSON.parse(stdout)).toEqual({
        writable: [],
        uid: "65532 65532 65532 65532",
        capabilities: "0000000000000000",
        noNewPrivileges: "1",
      });
    });

    it("are ready, and sync the samples", async () => {
      const { controlPlane } = cluster;
      const controller = await cluster.run(options("controller"));
      const webhook = await cluster.runWebhook(options("webhook"));
      await Promise.all([controller.waitReady(), webhook.waitReady()]);
      await cluster.askAtAdmission(webhook);
      await apply(controlPlane, join("config", "samples"));
      const copy = ["secret/database", "--namespace=web-dev"];
      await kubectl(controlPlane, ["wait", "--for=create", "--timeout=60s", ...copy]);
      expect(
        await kubectl(controlPlane, ["get", ...copy, "--output=jsonpath={.data.DB_USER}"]),
      ).toBe("b3JkZXJz");
      expect([controller.starts, webhook.starts]).toEqual([1, 1]);
    });
  },
);
