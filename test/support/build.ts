import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { takeLock, type HeldLock } from "./lock-file.ts";
import { describeExit, logTail, startTiedChild } from "./tied-child.ts";

const buildFlags = ["-trimpath"];
const progressEveryMs = 10_000;

/** The Go module of each supported minor version; the newest is the default. */
const modules: ReadonlyMap<string, string> = new Map([
  ["1.36", "controlplane"],
  ["1.35", "controlplane-1.35"],
]);

/** The module that KUBERNETES_MINOR selects; throws for an unsupported version. */
function moduleDirectory({ KUBERNETES_MINOR: minor = "" }: NodeJS.ProcessEnv): string {
  const name = modules.get(minor === "" ? "1.36" : minor);
  if (name === undefined)
    throw new Error(
      `KUBERNETES_MINOR=${minor} is not supported; must be one of ${[...modules.keys()].join(", ")}`,
    );
  return join(import.meta.dirname, name);
}

/** A usable Go toolchain: its version and the platform it builds for. */
export interface Go {
  version: string;
  platform: string;
}

/** The Go toolchain on PATH; undefined if there is none. */
export function findGo(env: NodeJS.ProcessEnv): Go | undefined {
  try {
    const names = ["env", "GOVERSION", "GOOS", "GOARCH"];
    const answer = execFileSync("go", names, {
      cwd: moduleDirectory(env),
      env: goEnv(env),
      encoding: "utf8",
      stdio: "pipe",
    });
    const [version = "", os = "", architecture = ""] = answer.trim().split("\n");
    return { version, platform: `${os}-${architecture}` };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new Error(`go is on PATH but does not work here: ${String(error)}`, { cause: error });
  }
}

/**
 * Builds the control plane's programs unless they are cached; returns their directory and reports
 * the progress.
 */
export async function buildControlPlane(
  go: Go,
  report: (line: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const directory = cacheDirectory(go, env);
  if (existsSync(directory)) return directory;
  mkdirSync(join(directory, ".."), { recursive: true });
  const lock = await waitForLock(`${directory}.lock`, report);
  try {
    if (!existsSync(directory)) await buildInto(directory, report, env);
  } finally {
    lock.release();
  }
  return directory;
}

/**
 * The directory name is a hash of all inputs of the build, so a change of any input causes a
 * rebuild.
 */
function cacheDirectory(go: Go, env: NodeJS.ProcessEnv): string {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"])
    hash.update(readFileSync(join(moduleDirectory(env), file))).update("\0");
  hash.update([go.version, go.platform, ...buildFlags].join("\0"));
  const cacheHome = env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(cacheHome, "latchkey", "control-plane", hash.digest("hex").slice(0, 16));
}

async function waitForLock(path: string, report: (line: string) => void): Promise<HeldLock> {
  for (let waits = 0; ; waits++) {
    const taken = takeLock(path);
    if ("release" in taken) return taken;
    if (waits % 20 === 0)
      report(`waiting for the build of the control plane by process ${taken.heldBy.pid}`);
    await pause(500);
  }
}

async function buildInto(
  directory: string,
  report: (line: string) => void,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const begun = Date.now();
  const draft = `${directory}.${process.pid}`;
  const log = `${directory}.log`;
  rmSync(draft, { recursive: true, force: true });
  rmSync(log, { force: true });
  report(
    "building etcd, kube-apiserver, kube-controller-manager and kubectl, once (some 5 minutes on 2 cores)",
  );
  const version = kubernetesVersion(env);
  const build = startTiedChild(
    ["go", "install", "-v", ...buildFlags, "-ldflags", linkerFlags(version), "tool"],
    {
      cwd: moduleDirectory(env),
      env: { ...goEnv(env), CGO_ENABLED: "0", GOGC: "400", GOBIN: draft },
      log,
      removeWithParent: draft,
    },
  );
  const progress = setInterval(() => report(progressLine(begun, log)), progressEveryMs);
  const exit = await build.exited;
  clearInterval(progress);
  if (exit.code !== 0)
    throw new Error(`go install: ${describeExit(exit)}; the log is ${log}\n${logTail(log)}`);
  renameSync(join(draft, "server"), join(draft, "etcd"));
  renameSync(draft, directory);
  report(`built the control plane ${version} in ${seconds(begun)} s, kept in ${directory}`);
}

function goEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, GOWORK: "off" };
}

/**
 * Read from the module, so that it cannot differ from the build; this also downloads the
 * dependencies.
 */
function kubernetesVersion(env: NodeJS.ProcessEnv): string {
  const query = ["list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes"];
  return execFileSync("go", query, {
    cwd: moduleDirectory(env),
    env: goEnv(env),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  }).trim();
}

/** Without both versions, kubectl cannot parse the server's version. */
function linkerFlags(version: string): string {
  const packages = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];
  return ["-s -w", ...packages.map((name) => `-X ${name}.gitVersion=${version}`)].join(" ");
}

function progressLine(begun: number, log: string): string {
  const lines = readFileSync(log, "utf8").split("\n");
  const downloaded = lines.filter((line) => line.startsWith("go: downloading")).length;
  const compiled = lines.length - 1 - downloaded;
  return `still building after ${seconds(begun)} s: ${downloaded} modules downloaded, ${compiled} packages compiled`;
}

function seconds(begun: number): number {
  return Math.round((Date.now() - begun) / 1000);
}
