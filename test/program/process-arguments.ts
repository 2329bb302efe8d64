import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** The command lines of all processes of the machine, while a test runs. */
export interface ProcessArguments {
  /** Every command line that was seen, with spaces between its words. */
  readonly seen: ReadonlySet<string>;
  /** Stops after one more look. */
  stop(): Promise<void>;
}

/**
 * How often the command line of a process is read: at first it may be that of the process which
 * started it.
 */
const looksAtOne = 25;

/** Reads /proc over and over, with pauses that are shorter than the start of a program. */
export function watchProcessArguments(): ProcessArguments {
  const seen = new Set<string>();
  const looks = new Map<string, number>();
  let isStopped = false;
  const looking = (async () => {
    while (!isStopped) {
      look(seen, looks);
      await pause(10);
    }
    look(seen, looks);
  })();
  return {
    seen,
    stop() {
      isStopped = true;
      return looking;
    },
  };
}

function look(seen: Set<string>, looks: Map<string, number>): void {
  const running = new Set(readdirSync("/proc").filter((entry) => /^\d/.test(entry)));
  for (const ended of [...looks.keys()].filter((entry) => !running.has(entry))) looks.delete(ended);
  for (const entry of running) {
    const before = looks.get(entry) ?? 0;
    if (before === looksAtOne) continue;
    looks.set(entry, before + 1);
    try {
      seen.add(readFileSync(join("/proc", entry, "cmdline"), "utf8").replaceAll("\0", " "));
    } catch {
      // The process has ended.
    }
  }
}
