import type { Clock } from "./clock.ts";
import type { Logger } from "./log.ts";

/** What the process gives to a server; `exit` ends it at once. */
export interface ServerProcess {
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly exit: (code: number) => void;
}

/** What {@link shutdownSignal} needs; `exitHard` ends the process at once and is main's to give. */
export interface ShutdownOptions {
  readonly process: Pick<NodeJS.EventEmitter, "on">;
  readonly clock: Pick<Clock, "monotonic">;
  readonly log: Logger;
  readonly exitHard: (code: number) => void;
}

/** Exit codes of a process that a signal ended: 128 + its number (POSIX shells). */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Ctrl-C reaches a process group and is often passed on by the parent too: signals this close
 * together are one wish.
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
