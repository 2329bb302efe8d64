import { type Clock, sleep } from "../../runtime/clock.ts";

/** Without an event for this long, the events that were missed before the watch have arrived. */
const quietMs = 300;
/** Maximum time until an open watch counts, because a busy resource is never quiet. */
const longestMs = 5_000;

/**
 * Decides when an open watch proves that a store is fresh. The API server opens a watch before it
 * sends the events that were missed. A store that is still fresh stays fresh at once; after an
 * outage, the watch counts only when those events have arrived, so that no deleted object is used.
 */
export class CacheFreshness {
  readonly #clock: Clock;
  readonly #freshForMs: number;
  #provenAt: number | undefined;
  /** Start of the last complete list. */
  #listedAt = -Infinity;
  #discards = 0;
  #needsList = false;
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  #pending: { readonly openedAt: number; cancel: () => void } | undefined;

  constructor(clock: Clock, freshForMs: number) {
    this.#clock = clock;
    this.#freshForMs = freshForMs;
  }

  /**
   * When the watch that proves the store was opened, by the monotonic clock; undefined if never.
   */
  get provenAt(): number | undefined {
    return this.#provenAt;
  }

  /** Resolves once the store was filled: by a list, or because there is nothing to list. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Whether the store was filled. */
  get isSynced(): boolean {
    return this.#isSynced;
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
    this.#filled();
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
    this.#filled();
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

  #filled(): void {
    this.#isSynced = true;
    this.#synced.resolve();
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

/** The watch state of an informer; milliseconds of a monotonic clock. */
export interface WatchState {
  readonly isSynced: boolean;
  /** When the API server opened the last watch that proves the store; undefined if never. */
  readonly openedAt: number | undefined;
  /** How long the store is fresh after a watch was opened, in milliseconds. */
  readonly freshForMs: number;
}

/** Whether the store of an informer is fresh. */
export function isFresh({ isSynced, openedAt, freshForMs }: WatchState, now: number): boolean {
  return isSynced && openedAt !== undefined && now - openedAt < freshForMs;
}

/** Whether the stores of all these informers are fresh. */
export function areFresh(
  informers: readonly { readonly watchState: WatchState }[],
  now: number,
): boolean {
  return informers.every(({ watchState }) => isFresh(watchState, now));
}

/** Why the store of this resource is not fresh; undefined if it is. */
export function staleReason(plural: string, state: WatchState, now: number): string | undefined {
  if (isFresh(state, now)) return undefined;
  if (!state.isSynced) return `${plural} not synced yet`;
  const since =
    state.openedAt === undefined ? "" : ` for ${Math.floor((now - state.openedAt) / 1000)} s`;
  return `${plural}: no watch response from the API server${since}; check the connection`;
}

/** The reasons of several informers, as {@link staleReason} gives each of them. */
export function staleReasons(
  informers: readonly {
    readonly resource: { readonly plural: string };
    readonly watchState: WatchState;
  }[],
  now: number,
): readonly string[] {
  return informers.flatMap(
    ({ resource, watchState }) => staleReason(resource.plural, watchState, now) ?? [],
  );
}

const pollMs = 200;

/** Resolves when all these stores are fresh, or the signal aborts. */
export async function untilFresh(
  informers: readonly { readonly watchState: WatchState }[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  while (!areFresh(informers, clock.monotonic()) && !signal.aborted)
    await sleep(pollMs, { clock, signal });
}
