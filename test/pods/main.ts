/*
 * `make pods`: runs Latchkey's image in pods of a real kubelet, in namespaces of the kernel that end
 * with it, and prints how long each step took. It needs root on Linux, and Debian's apt-get.
 */
import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chartsOf } from "../../release/chart/charts.ts";
import { findKustomize } from "../../release/chart/kustomize.ts";
import { packageChart } from "../../release/chart/package.ts";
import { buildImage, imageName } from "../../release/image/build-image.ts";
import { writeLayout } from "../../release/image/layout.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { nodeModule } from "../support/control-plane-module.ts";
import { debianPrograms, podRuntime } from "../support/debian-programs.ts";
import { buildModule } from "../support/go-module.ts";
import { runConfig } from "../support/image.ts";
import { repository } from "../support/install.ts";
import { findOrBuildTools } from "../support/tools.ts";
import type { InsideSettings } from "./inside.ts";
import { makeCgroup, removeCgroup, startInNamespaces } from "./namespaces.ts";
import { pauseImage } from "./node-settings.ts";

const say = (line: string) => void process.stdout.write(`${line}\n`);
const logs = join(repository, "dist", "pods");

if (process.platform !== "linux" || process.getuid?.() !== 0) {
  say("make pods needs root on Linux: it creates namespaces, mounts and cgroups, and removes them");
  process.exit(1);
}
const work = mkdtempSync(join(tmpdir(), "latchkey-pods-"));
const removeWork = () => rmSync(work, { recursive: true, force: true });
const cgroup = `latchkey-pods-${process.pid}`;
/** Set while something runs in namespaces. */
let inside: ChildProcess | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupt);
try {
  process.exitCode = await runInside(await prepare());
} finally {
  removeWork();
}

/** Ends what runs in namespaces, after which `runInside` returns. */
function interrupt(): void {
  if (inside !== undefined) return void inside.kill("SIGKILL");
  removeWork();
  process.exit(130);
}

/** Builds all programs and images: there is no network in the namespaces. */
async function prepare(): Promise<InsideSettings> {
  const binaries = await findOrBuildControlPlane(say);
  if (binaries.kind === "existing") throw new Error("make pods needs no USE_EXISTING_CLUSTER");
  const programs = await buildModule(nodeModule, { report: say });
  const debian = await debianPrograms(podRuntime, say);
  const { images } = await buildImage(join(work, "image"), say);
  // Node.js as the container that holds the network of a pod: no other program is needed.
  const [Node = ""] = runConfig().Entrypoint;
  const config = { ...runConfig(), Entrypoint: [Node, "--eval", "setInterval(() => {}, 1e9)"] };
  writeLayout(join(work, "pause"), {
    ...pauseImage,
    config: { ...config, Cmd: [] },
    images: images.map((one) => ({ ...one, layers: one.layers.slice(0, -1) })),
  });
  rmSync(logs, { recursive: true, force: true });
  mkdirSync(logs, { recursive: true });
  await findOrBuildTools(say);
  const charts = chartsOf(await findKustomize(say));
  const latchkey = charts.find(({ name }) => name === "latchkey");
  if (latchkey === undefined) throw new Error("no chart has the name latchkey");
  const chart = join(work, packageChart(latchkey, work).archive);
  const image = { name: imageName, tag: latchkeyVersion };
  return { place: { work, debian, cgroup, logs }, binaries, programs, image, chart };
}

/** Runs inside.ts in namespaces of its own; returns its exit code, or 130 after an interruption. */
async function runInside(settings: InsideSettings): Promise<number> {
  const program = join(import.meta.dirname, "inside.ts");
  makeCgroup(cgroup);
  try {
    const child = startInNamespaces([process.execPath, program, JSON.stringify(settings)]);
    inside = child;
    return await new Promise((resolve, reject) => {
      child.once("error", reject).once("exit", (code) => resolve(code ?? 130));
    });
  } finally {
    await removeCgroup(cgroup);
  }
}
