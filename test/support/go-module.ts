import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { takeLock, type HeldLock } from "./lock-file.ts";
import { describeExit, logTail, startTiedChild } from "./tied-child.ts";

const buildFlags = ["-trimpath"];
const progressEveryMs = 10_000;

/** A Go module whose programs are built once and cached. */
export interface GoModule {
  /** The directory of go.mod. */
  readonly directory: string;
  /** What its programs are; also the name of their directory in the cache. */
  readonly name: string;
  /** How long a first build takes on 2 cores. */
  readonly takes: string;
  /** The argument of `go install`. */
  readonly packages: string;
  /** In addition to `-s -w`; called before a build only. */
  readonly linkerFlags?: (env: NodeJS.ProcessEnv) => readonly string[];
  /** Called with the directory of the programs before it is used. */
  readonly finish?: (programs: string) => void;
}

/** A usable Go toolchain: its version and the platform it builds for. */
export interface Go {
  version: string;
  platform: string;
}

/** The Go toolchain on PATH for a module; undefined if there is none. */
export function findGo(
  { directory }: Pick<GoModule, "directory">,
  env: NodeJS.ProcessEnv,
): Go | undefined {
  try {
    const names = ["env", "GOVERSION", "GOOS", "GOARCH"];
    const answer = execFileSync("go", names, {
      cwd: directory,
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

/** Builds a module's programs unless they are cached; returns their directory. */
export async function buildModule(
  module: GoModule,
  go: Go,
  { report, env = process.env }: BuildDeps,
): Promise<string> {
  const directory = cacheDirectory(module, go, env);
  if (existsSync(directory)) return directory;
  mkdirSync(join(directory, ".."), { recursive: true });
  const lock = await waitForLock(`${directory}.lock`, module, report);
  try {
    if (!existsSync(directory)) await buildInto(directory, module, { report, env });
  } finally {
    lock.release();
  }
  return directory;
}

/** Dependencies of a build. */
export interface BuildDeps {
  readonly report: (line: string) => void;
  readonly env?: NodeJS.ProcessEnv;
}

/** The environment of every `go` command: a workspace must not change the build. */
export function goEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, GOWORK: "off" };
}

/**
 * The directory name is a hash of all inputs of the build, so a change of any input causes a
 * rebuild.
 */
function cacheDirectory({ directory, name }: GoModule, go: Go, env: NodeJS.ProcessEnv): string {
  const hash = createHash("sha256");
  const sources = readdirSync(directory).filter((file) => file.endsWith(".go"));
  for (const file of ["go.mod", "go.sum", ...sources.sort()])
    hash.update(readFileSync(join(directory, file))).update("\0");
  hash.update([go.version, go.platform, ...buildFlags].join("\0"));
  const cacheHome = env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const folder = name.replaceAll(" ", "-");
  return join(cacheHome, "latchkey", folder, hash.digest("hex").slice(0, 16));
}

async function waitForLock(
  path: string,
  { name }: GoModule,
  report: BuildDeps["report"],
): Promise<HeldLock> {
  for (let waits = 0; ; waits++) {
    const taken = takeLock(path);
    if ("release" in taken) return taken;
    if (waits % 20 === 0)
      report(`waiting for the build of the ${name} by process ${taken.heldBy.pid}`);
    await pause(500);
  }
}

async function buildInto(
  directory: string,
  module: GoModule,
  { report, env }: Required<BuildDeps>,
): Promise<void> {
  const begun = Date.now();
  const draft = `${directory}.${process.pid}`;
  const log = `${directory}.log`;
  rmSync(draft, { recursive: true, force: true });
  rmSync(log, { force: true });
  report(`building the ${module.name}, once (some ${module.takes} on 2 cores)`);
  const linkerFlags = ["-s -w", ...(module.linkerFlags?.(env) ?? [])].join(" ");
  const build = startTiedChild(
    ["go", "install", "-v", ...buildFlags, "-ldflags", linkerFlags, module.packages],
    {
      cwd: module.directory,
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
  module.finish?.(draft);
  renameSync(draft, directory);
  report(`built the ${module.name} in ${seconds(begun)} s, kept in ${directory}`);
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
