import type { PassiveClock } from "../../runtime/clock.ts";
import type { Logger } from "../../runtime/log.ts";
import type { ServerAnswer } from "./server-answers.ts";

/** How long failures of requests belong to an outage that has ended. */
const settleMs = 10_000;

/**
 * Says in the log that an API server serves no request, and that it does again: once for the
 * process, not once for each watch, Lease and write. One failed request alone is no outage.
 */
export class OutageLog {
  readonly #clock: PassiveClock;
  readonly #log: Logger | undefined;
  #failures = 0;
  #since = 0;
  #isSaid = false;
  #endedAt = -Infinity;
  /** The server of the last answer. */
  #server: string | undefined;

  constructor(clock: PassiveClock, log: Logger | undefined) {
    [this.#clock, this.#log] = [clock, log];
  }

  /** Notes what became of a request to `server`. */
  note(answer: ServerAnswer, server: string): void {
    const now = this.#clock.monotonic();
    this.#server = server;
    if (answer.kind === "accepted") {
      this.#failures = 0;
      if (!this.#isSaid) return;
      [this.#isSaid, this.#endedAt] = [false, now];
      const seconds = Math.round((now - this.#since) / 1000);
      return this.#log?.info({ server, seconds }, "the API server serves requests again");
    }
    this.#failures += 1;
    if (this.#failures === 1) this.#since = now;
    else if (!this.#isSaid && !this.#hasJustEnded(now)) {
      this.#isSaid = true;
      this.#log?.warn({ server, why: answer.cause }, "the API server serves no request");
    }
  }

  /**
   * A log in which failures of requests are details during an outage, and shortly after it. A
   * warning that names another server in the field `server` stays one.
   */
  quiet(log: Logger): Logger {
    return {
      ...log,
      warn: (fields, message) => {
        const isOutage = this.#isSaid || this.#hasJustEnded(this.#clock.monotonic());
        const isOfServer = "code" in fields && (fields.server ?? this.#server) === this.#server;
        log[isOutage && isOfServer ? "debug" : "warn"](fields, message);
      },
    };
  }

  #hasJustEnded(now: number): boolean {
    return now - this.#endedAt < settleMs;
  }
}
