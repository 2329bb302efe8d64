import { type Key, keyOf, type ObjectRef } from "../api/object.ts";
import { refreshRequestOf } from "../domain/shared-secret/refresh.ts";
import type { Source } from "../domain/sync/copy.ts";
import type { WorkQueue } from "../kube/queue.ts";

/** Dependencies of {@link Refreshes}. */
export interface RefreshesDeps {
  readonly queues: {
    readonly sharedSecret: Pick<WorkQueue, "add">;
    readonly copy: Pick<WorkQueue, "add">;
  };
}

/** What the status says about the refresh of a SharedSecret. */
export interface RefreshProgress {
  /** The value of `refresh-now` whose refresh is complete; absent if there is none. */
  readonly refreshed?: string;
  /** When the next refresh may start, in milliseconds since the epoch. */
  readonly startAt?: number;
}

interface Refresh {
  readonly uid: string;
  /** Absent once the annotation is removed: the same value is then another request. */
  readonly value?: string;
  readonly startedAt: number;
  /** Targets that have not been read since. */
  readonly waiting: Set<Key>;
}

/** Least time between the starts of two refreshes of a SharedSecret. */
const leastIntervalMs = 10_000;

/**
 * The refreshes of a leader: a change of `refresh-now` makes the next reconcile of each target read
 * it from the API server first. The status remembers the last value, so a new leader starts a
 * refresh again only if it was not complete.
 */
export class Refreshes {
  readonly #deps: RefreshesDeps;
  readonly #bySource = new Map<Key, Refresh>();
  readonly #byTarget = new Map<Key, Set<Key>>();

  constructor(deps: RefreshesDeps) {
    this.#deps = deps;
  }

  /** Starts the refresh that a SharedSecret requests, if one is due; returns its progress. */
  observe({ secret }: Source, targets: () => readonly ObjectRef[], now: number): RefreshProgress {
    const key = keyOf(secret.metadata);
    const { requested, refreshed } = refreshRequestOf(secret);
    const { uid } = secret.metadata;
    const known = this.#bySource.get(key);
    const last = known?.uid === uid ? known : undefined;
    const done = last?.waiting.size === 0 ? last.value : refreshed;
    const progress = done === undefined ? {} : { refreshed: done };
    if (requested === undefined) {
      if (last !== undefined) this.#bySource.set(key, withoutValue(last));
      return {};
    }
    if (requested === done || (last?.waiting.size ?? 0) > 0) return progress;
    const startAt = (last?.startedAt ?? -Infinity) + leastIntervalMs;
    if (startAt > now) return { ...progress, startAt };
    const waiting = this.#start(key, { uid, value: requested, startedAt: now }, targets());
    return waiting === 0 ? { refreshed: requested } : progress;
  }

  /** The SharedSecrets whose refresh waits for a target. */
  waitingFor(target: Key): readonly Key[] {
    return [...(this.#byTarget.get(target) ?? [])];
  }

  /** Records that a target was read for these SharedSecrets, and reconciled. */
  end(target: Key, sources: readonly Key[]): void {
    const left = this.#byTarget.get(target);
    for (const source of sources) {
      left?.delete(source);
      const refresh = this.#bySource.get(source);
      if (refresh?.waiting.delete(target) === true && refresh.waiting.size === 0)
        this.#deps.queues.sharedSecret.add(source, "normal");
    }
    if (left?.size === 0) this.#byTarget.delete(target);
  }

  /** Forgets the refresh of a SharedSecret that no longer exists. */
  forget(source: Key): void {
    for (const target of this.#bySource.get(source)?.waiting ?? []) {
      const left = this.#byTarget.get(target);
      left?.delete(source);
      if (left?.size === 0) this.#byTarget.delete(target);
    }
    this.#bySource.delete(source);
  }

  #start(source: Key, begun: Omit<Refresh, "waiting">, targets: readonly ObjectRef[]): number {
    this.forget(source);
    const waiting = new Set(targets.map(keyOf));
    this.#bySource.set(source, { ...begun, waiting });
    for (const target of waiting) {
      const sources = this.#byTarget.get(target) ?? new Set();
      this.#byTarget.set(target, sources.add(source));
      this.#deps.queues.copy.add(target, "low");
    }
    return waiting.size;
  }
}

function withoutValue({ uid, startedAt, waiting }: Refresh): Refresh {
  return { uid, startedAt, waiting };
}
