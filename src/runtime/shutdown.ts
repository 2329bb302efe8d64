import type { PassiveClock } from "./clock.ts";
import type { Logger } from "./log.ts";

/** Dependencies of {@link shutdownSignal}; `exitHard` ends the process at once. */
interface ShutdownOptions {
  readonly process: Pick<NodeJS.EventEmitter, "on">;
  readonly clock: PassiveClock;
  readonly log: Logger;
  readonly exitHard: (code: number) => void;
}

/** Exit codes of a process that a signal ended: 128 + the signal number (POSIX shells). */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Signals within this time count as one: Ctrl-C reaches the process group, and the parent often
 * forwards it, too.
 */
const sameWishMs = 500;

/**
 * Aborts at the first SIGTERM or SIGINT; a second one, at least half a second later, calls
 * `exitHard`.
 */
export function shutdownSignal({ process, clock, log, exitHard }: ShutdownOptions): AbortSignal {
  const shutdown = new AbortController();
  let askedAt = 0;
  function onSignal(name: keyof typeof exitCodes): void {
    if (!shutdown.signal.aborted) {
      askedAt = clock.monotonic();
      log.info({ signal: name }, "shutting down");
      shutdown.abort();
    } else if (clock.monotonic() - askedAt >= sameWishMs) {
      log.warn({ signal: name }, "exiting before the shutdown is complete");
      exitHard(exitCodes[name]);
    }
  }
  process.on("SIGTERM", () => onSignal("SIGTERM"));
  process.on("SIGINT", () => onSignal("SIGINT"));
  return shutdown.signal;
}
