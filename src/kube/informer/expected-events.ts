import type { Key } from "../../api/object.ts";
import type { Cancel, Clock } from "../../runtime/clock.ts";
import { isOlder } from "./raw-object.ts";

interface Expected {
  readonly key: Key;
  readonly resourceVersion: string;
  /** Monotonic milliseconds. */
  readonly since: number;
}

/** Dependencies of {@link ExpectedEvents}. */
interface ExpectedEventsOptions {
  readonly clock: Clock;
  /** When the watch last delivered an event, in monotonic milliseconds. */
  readonly heardAt: () => number;
  /** Called with an object that was written, if the watch delivers no event for it. */
  readonly onMissing: (key: Key) => void;
}

/** Time after which an event is missing; a working watch delivers it much earlier. */
const expectedEventMs = 2_000;

/**
 * Writes whose watch event has not arrived yet. Events arrive in order, so only the oldest and the
 * newest are kept.
 */
export class ExpectedEvents {
  readonly #options: ExpectedEventsOptions;
  #oldest: Expected | undefined;
  #newest: Expected | undefined;
  #cancel: Cancel | undefined;
  #isStopped = false;

  constructor(options: ExpectedEventsOptions) {
    this.#options = options;
  }

  /** Records a write whose response has this resourceVersion, unless it is stopped. */
  expect(key: Key, resourceVersion: string): void {
    if (this.#isStopped) return;
    const expected = { key, resourceVersion, since: this.#options.clock.monotonic() };
    this.#oldest ??= expected;
    if (this.#newest === undefined || isOlder(this.#newest.resourceVersion, resourceVersion))
      this.#newest = expected;
    this.#arm();
  }

  /** Records that the watch has delivered all events up to this resourceVersion. */
  reached(resourceVersion: string | undefined): void {
    if (isBehind(resourceVersion, this.#oldest)) return;
    if (!isBehind(resourceVersion, this.#newest)) this.#newest = undefined;
    this.#oldest = this.#newest;
  }

  /** Discards all expected events, and expects no more: a timer would keep the process. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
    [this.#cancel, this.#oldest, this.#newest] = [undefined, undefined, undefined];
  }

  #arm(): void {
    if (this.#oldest === undefined || this.#cancel !== undefined) return;
    this.#cancel = this.#options.clock.wakeAfter(expectedEventMs, () => {
      this.#cancel = undefined;
      const dueSince = this.#options.clock.monotonic() - expectedEventMs;
      // A watch that delivers other events is behind, but works.
      if (
        this.#oldest !== undefined &&
        this.#oldest.since <= dueSince &&
        this.#options.heardAt() <= dueSince
      )
        this.#giveUp(this.#oldest);
      this.#arm();
    });
  }

  #giveUp(missing: Expected): void {
    if (this.#newest === missing) this.#newest = undefined;
    this.#oldest = this.#newest;
    this.#options.onMissing(missing.key);
  }
}

function isBehind(resourceVersion: string | undefined, expected: Expected | undefined): boolean {
  return expected !== undefined && isOlder(resourceVersion, expected.resourceVersion);
}
