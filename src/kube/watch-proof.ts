import type { Clock } from "../runtime/clock.ts";

/** Without an event for this long, the events that were missed before the watch have arrived. */
const quietMs = 300;
/** Maximum time until an open watch counts, because a busy resource is never quiet. */
const longestMs = 5_000;

/**
 * Decides when an open watch proves that a store is fresh. The API server opens a watch before it
 * sends the events that were missed. A store that is still fresh stays fresh at once; after an
 * outage, the watch counts only when those events have arrived, so that no deleted object is used.
 */
export class WatchProof {
  readonly #clock: Pick<Clock, "monotonic" | "wakeAfter">;
  readonly #freshForMs: number;
  #provenAt: number | undefined;
  /** Start of the last complete list. */
  #listedAt = -Infinity;
  #discards = 0;
  #needsList = false;
  #pending: { readonly openedAt: number; cancel: () => void } | undefined;

  constructor(clock: Pick<Clock, "monotonic" | "wakeAfter">, freshForMs: number) {
    this.#clock = clock;
    this.#freshForMs = freshForMs;
  }

  /** When the watch that proves the store was opened, by the monotonic clock; undefined if never. */
  get provenAt(): number | undefined {
    return this.#provenAt;
  }

  /** Whether only a list proves the store. */
  get needsList(): boolean {
    return this.#needsList;
  }

  /** How often {@link discard} was called. */
  get discards(): number {
    return this.#discards;
  }

  /** The store contains what existed at `startedAt`, after so many {@link discards}. */
  listed(startedAt: number, discards: number): void {
    if (discards !== this.#discards) return;
    this.#listedAt = startedAt;
    this.#needsList = false;
  }

  /** Nothing proves the store until a list that begins after this call. */
  discard(): void {
    this.ended();
    this.#discards += 1;
    [this.#provenAt, this.#listedAt] = [undefined, -Infinity];
    this.#needsList = true;
  }

  /** A response of the API server proves the store without a watch. */
  answered(): void {
    this.#provenAt = this.#clock.monotonic();
    this.#needsList = false;
  }

  /** The API server has opened a watch. */
  opened(): void {
    if (this.#needsList) return;
    const now = this.#clock.monotonic();
    const completeAt = Math.max(this.#listedAt, this.#provenAt ?? -Infinity);
    if (now - completeAt < this.#freshForMs) this.#provenAt = now;
    else this.#await(now);
  }

  /** Events have arrived. */
  heard(): void {
    if (this.#pending !== undefined) this.#await(this.#pending.openedAt);
  }

  /** The watch has ended. */
  ended(): void {
    this.#pending?.cancel();
    this.#pending = undefined;
  }

  #await(openedAt: number): void {
    this.#pending?.cancel();
    const leftMs = openedAt + longestMs - this.#clock.monotonic();
    const cancel = this.#clock.wakeAfter(Math.max(0, Math.min(quietMs, leftMs)), () => {
      this.#pending = undefined;
      this.#provenAt = openedAt;
    });
    this.#pending = { openedAt, cancel };
  }
}
