import type { Clock } from "../runtime/clock.ts";

/**
 * Rate limit of Events per object: a burst, then one every five minutes; for at most this many
 * objects (client-go, EventSourceObjectSpamFilter).
 */
const limits = { burst: 25, refillMs: 300_000, objects: 4096 } as const;

interface Bucket {
  tokens: number;
  at: number;
}

/** A token bucket per object; evicts the least recently used object. */
export class EventBudget {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Takes one Event from the budget of the object `uid`; false if the budget is used up. */
  tryTake(uid: string): boolean {
    const bucket = this.#refilled(uid);
    this.#buckets.delete(uid);
    this.#buckets.set(uid, bucket);
    this.#forgetOldest();
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  #refilled(uid: string): Bucket {
    const now = this.#clock.monotonic();
    const { tokens, at } = this.#buckets.get(uid) ?? { tokens: limits.burst, at: now };
    return { tokens: Math.min(limits.burst, tokens + (now - at) / limits.refillMs), at: now };
  }

  #forgetOldest(): void {
    if (this.#buckets.size <= limits.objects) return;
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      return;
    }
  }
}
