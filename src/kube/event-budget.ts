import type { Clock } from "../runtime/clock.ts";

/** A burst of Events, then one each time, for at most this many objects. */
interface EventLimits {
  readonly burst: number;
  readonly refillMs: number;
  readonly objects: number;
}

/** The limits of each object (client-go, EventSourceObjectSpamFilter). */
const objectLimits: EventLimits = { burst: 25, refillMs: 300_000, objects: 4096 };

interface Bucket {
  tokens: number;
  at: number;
}

/** A token bucket per object; evicts the least recently used object. */
export class EventBudget {
  readonly #clock: Clock;
  readonly #limits: EventLimits;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, limits = objectLimits) {
    this.#clock = clock;
    this.#limits = limits;
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
    const { burst, refillMs } = this.#limits;
    const { tokens, at } = this.#buckets.get(uid) ?? { tokens: burst, at: now };
    return { tokens: Math.min(burst, tokens + (now - at) / refillMs), at: now };
  }

  #forgetOldest(): void {
    if (this.#buckets.size <= this.#limits.objects) return;
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      return;
    }
  }
}
