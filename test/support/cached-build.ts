import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { takeLock, type TakenLock } from "./lock-file.ts";
import { preparedDirectory } from "./prepared.ts";
import { describeExit, logTail, startTiedChild } from "./tied-child.ts";

const progressEveryMs = 30_000;
const mostHoursOfUse = 2;

/** A directory that a command fills once. */
export interface CachedBuild {
  /** What it contains; also the name of its directory in the cache. */
  readonly name: string;
  /** How long the command takes on 2 cores. */
  readonly takes: string;
  /** Everything that the result depends on: a change of any input causes another build. */
  readonly inputs: readonly string[];
  /** How many results are kept, those that were used last; all by default. */
  readonly keeps?: number;
  /** Called before a build only, with the directory to fill. */
  readonly command: (draft: string) => BuildCommand;
  /** Progress in words, from the lines of the command's log. */
  readonly progress: (lines: readonly string[]) => string;
  /** Called with the directory before it is used. */
  readonly finish?: (draft: string) => void;
}

/** A command with its working directory and complete environment. */
export interface BuildCommand {
  readonly words: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Dependencies of a build. */
export interface BuildDeps {
  readonly report: (line: string) => void;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Fills a directory unless it is cached; returns it. A test gets what was prepared before it:
 * nothing is built then.
 */
export async function buildOnce(
  build: CachedBuild,
  { report, env = process.env }: BuildDeps,
): Promise<string> {
  const prepared = preparedDirectory(build.name, env);
  if (prepared !== undefined) return prepared;
  const directory = cacheDirectory(build, env);
  if (existsSync(directory)) {
    const now = new Date();
    utimesSync(directory, now, now);
    return directory;
  }
  mkdirSync(join(directory, ".."), { recursive: true });
  const lock = await waitForLock(`${directory}.lock`, build, report);
  try {
    if (!existsSync(directory)) await buildInto(directory, build, report);
    removeOlder(dirname(directory), build);
  } finally {
    lock.release();
  }
  return directory;
}

/** The directory name is a hash of all inputs of the build. */
function cacheDirectory({ name, inputs }: CachedBuild, env: NodeJS.ProcessEnv): string {
  const hash = createHash("sha256").update(inputs.join("\0"));
  const folder = name.replaceAll(" ", "-");
  return join(cacheRoot(env), folder, hash.digest("hex").slice(0, 16));
}

/** The directory of everything that is made once for the tests of this machine. */
export function cacheRoot(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "latchkey");
}

function removeOlder(folder: string, { keeps }: CachedBuild): void {
  if (keeps === undefined) return;
  const results = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && /^[\da-f]{16}$/.test(entry.name),
  );
  const usedAt = (name: string) => statSync(join(folder, name)).mtimeMs;
  const byUse = results.map(({ name }) => name).toSorted((a, b) => usedAt(b) - usedAt(a));
  // The tests of another checkout may use it until they end.
  const isUnused = (name: string) => usedAt(name) + mostHoursOfUse * 3_600_000 < Date.now();
  for (const name of byUse.slice(keeps).filter(isUnused)) {
    rmSync(join(folder, name), { recursive: true, force: true });
    rmSync(join(folder, `${name}.log`), { force: true });
  }
}

async function waitForLock(
  path: string,
  { name }: CachedBuild,
  report: BuildDeps["report"],
): Promise<TakenLock> {
  for (let waits = 0; ; waits++) {
    const taken = takeLock(path);
    if ("release" in taken) return taken;
    if (waits % 20 === 0)
      report(`waiting for the build of the ${name} by process ${taken.owner.pid}`);
    await pause(500);
  }
}

async function buildInto(
  directory: string,
  build: CachedBuild,
  report: BuildDeps["report"],
): Promise<void> {
  const begun = Date.now();
  const draft = `${directory}.${process.pid}`;
  const log = `${directory}.log`;
  rmSync(draft, { recursive: true, force: true });
  rmSync(log, { force: true });
  report(`${build.name}: some ${build.takes} on 2 cores, once`);
  const { words, cwd, env } = build.command(draft);
  const child = startTiedChild(words, { cwd, env, log, removeWithParent: draft });
  const progress = setInterval(() => {
    const lines = readFileSync(log, "utf8").split("\n");
    report(`${build.name}: ${seconds(begun)} s, ${build.progress(lines)}`);
  }, progressEveryMs);
  const exit = await child.exited;
  clearInterval(progress);
  if (exit.code !== 0) {
    rmSync(draft, { recursive: true, force: true });
    throw new Error(
      `the build of the ${build.name}: ${describeExit(exit)}; the log is ${log}\n${logTail(log)}`,
    );
  }
  build.finish?.(draft);
  renameSync(draft, directory);
  report(`${build.name}: made in ${seconds(begun)} s, kept in ${directory}`);
}

function seconds(begun: number): number {
  return Math.round((Date.now() - begun) / 1000);
}
