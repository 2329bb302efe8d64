import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/**
 * The owner of a lock: a pid and the start time of the process, so that a reused pid is not
 * mistaken for the owner.
 */
export interface Holder {
  pid: number;
  began: string;
}

/** A lock that this process owns. */
export interface TakenLock {
  release(): void;
}

/** Takes the lock file at once, or returns its owner; a lock of a dead process is taken over. */
export function takeLock(path: string): TakenLock | { owner: Holder } {
  const mine = JSON.stringify({ pid: process.pid, began: beginning(process.pid) });
  for (;;) {
    if (linkWhole(path, mine)) return { release: () => rmSync(path, { force: true }) };
    const found = read(path);
    if (found === undefined) continue;
    const holder = parseHolder(found);
    if (holder !== undefined && isAlive(holder)) return { owner: holder };
    removeStale(path, found);
  }
}

/** Whether the process that wrote the lock is still running. */
export function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  return holder.began === "" || holder.began === beginning(holder.pid);
}

/** A link appears together with its content, so no process reads an incomplete lock. */
function linkWhole(path: string, content: string): boolean {
  const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  writeFileSync(draft, content);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Two processes may find the same stale lock; the slower one must not remove the new lock of the
 * faster one.
 */
function removeStale(path: string, found: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (read(aside) !== found) linkBack(aside, path);
  rmSync(aside, { force: true });
}

function linkBack(aside: string, path: string): void {
  try {
    linkSync(aside, path);
  } catch {
    // Another process has already taken the lock.
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, began }: Record<string, unknown> = JSON.parse(text);
    return typeof pid === "number" && typeof began === "string" ? { pid, began } : undefined;
  } catch {
    return undefined;
  }
}

/** Field 22 of /proc/<pid>/stat on Linux (proc(5)); empty without /proc. */
function beginning(pid: number): string {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
