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

/** Reads /proc over and over, without a pause that a process could live in unseen. */
export function watchProcessArguments(): ProcessArguments {
  const seen = new Set<string>();
  let isStopped = false;
  const looking = (async () => {
    while (!isStopped) {
      look(seen);
      await pause(1);
    }
    look(seen);
  })();
  return {
    seen,
    stop() {
      isStopped = true;
      return looking;
    },
  };
}

function look(seen: Set<string>): void {
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      seen.add(readFileSync(join("/proc", entry, "cmdline"), "utf8").replaceAll("\0", " "));
    } catch {
      // The process has ended.
    }
  }
}
