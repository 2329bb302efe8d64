import type { Key } from "../api/object.ts";
import type { Result } from "../api/result.ts";
import { dueAt, recordRepair, type Repair } from "../domain/plan/repairs.ts";
import type { PassiveClock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";

/** What {@link PacedWrites} need. */
interface PacedWritesDeps {
  readonly clock: PassiveClock;
  readonly log: Pick<Logger, "warn">;
}

/**
 * Writes objects that this process writes without a plan. What does not stay is written again with
 * the pauses of `repairs.ts`, and the log says so once.
 */
export class PacedWrites {
  readonly #deps: PacedWritesDeps;
  readonly #repairs = new Map<Key, Repair>();

  constructor(deps: PacedWritesDeps) {
    this.#deps = deps;
  }

  /**
   * Sends a write of an object that wants `intent`; a rejection is passed on. Resolves to when it
   * may be sent, if it is a repair that waits.
   */
  async write(key: Key, intent: string, send: () => Promise<void>): Promise<Result | undefined> {
    const { clock, log } = this.#deps;
    const before = this.#repairs.get(key);
    const now = clock.monotonic();
    const waitMs = dueAt(before, intent) - now;
    if (before !== undefined && waitMs > 0) {
      if (before.why === undefined) {
        log.warn(
          { object: key, count: before.repairs },
          "an object does not stay as it is written; it is repaired ever less often",
        );
        this.#repairs.set(key, { ...before, why: "undone" });
      }
      return { kind: "requeue-at", at: clock.now() + waitMs };
    }
    await send();
    this.#repairs.set(key, recordRepair(before, intent, now));
    return undefined;
  }
}
