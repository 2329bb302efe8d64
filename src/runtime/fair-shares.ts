import type { Cancel, Timers } from "./clock.ts";

/** Who asks for a share: a user, and the credential of this user that is presented. */
export interface Sharer {
  readonly user: string;
  readonly key: string;
}

/** How much there is, in the units of what is shared: requests, or bytes. */
export interface ShareLimits {
  readonly all: number;
  /** The most of one user, and with one key; default: all that the others leave. */
  readonly user?: number;
  readonly key?: number;
}

/** A piece of work that asks for its share. */
export interface Share {
  readonly isWaiting: boolean;
  /** Calls `start` when there is room: at once, or later from a microtask. */
  enter(start: () => void): void;
  /** Ends work that waits for longer than this, in milliseconds, and calls `onLate`. */
  giveUpAfter(ms: number, clock: Timers, onLate: () => void): void;
  /** Ends the work, or gives up waiting; may be called again. */
  end(): void;
}

/**
 * Shares a limited resource among users, and the share of a user among the user's keys.
 *
 * A user gets at most as much as is left free: half if alone, a third beside another one. So there
 * is room for the next user, who need not wait for the slow work of those who came first. The rule
 * is the dynamic threshold of shared-memory switches (Choudhury and Hahne, 1998).
 *
 * Work without room waits; users take turns, and so do the keys of a user, whatever the number of
 * pieces that each has waiting. So between the arrival of a user's first piece and its start, at
 * most one piece of each other user starts.
 */
export class FairShares {
  readonly #limits: ShareLimits;
  readonly #users = new Map<string, UserShare>();
  /** The users with waiting work; the first is the next in turn. */
  readonly #turns = new Set<UserShare>();
  #used = 0;
  #waiting = 0;
  readonly #shared: Shared = {
    enter: (work) => this.#enter(work),
    end: (work, place, state) => this.#end(work, place, state),
  };

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** Number of pieces of work that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Units in use. */
  get used(): number {
    return this.#used;
  }

  /** Asks for so many units. */
  ask(sharer: Sharer, units: number): Share {
    return new Work(sharer, units, this.#shared);
  }

  #enter(work: Work): void {
    const { user, key } = work.sharer;
    const share = this.#users.get(user) ?? new UserShare(user);
    this.#users.set(user, share);
    work.place = { user: share, key };
    if (this.#turns.size === 0 && this.#obstacle(work.units, work.place) === undefined) {
      this.#begin(work, work.place);
      return work.start();
    }
    work.state = "waiting";
    share.add(key, work);
    this.#turns.add(share);
    this.#waiting += 1;
    this.#next();
  }

  #end(work: Work, { user, key }: Place, state: Work["state"]): void {
    if (state === "begun") {
      this.#used -= work.units;
      user.use(key, -work.units);
    } else if (state === "waiting") this.#remove(work, { user, key });
    else return;
    if (user.isIdle) this.#users.delete(user.name);
    this.#next();
  }

  /** Starts what has room, in turns. */
  #next(): void {
    while (this.#startOne());
  }

  #startOne(): boolean {
    for (const user of this.#turns) {
      for (const [key, work] of user.firstOfKeys()) {
        const obstacle = this.#obstacle(work.units, { user, key });
        // What is free is kept for the one whose turn it is, or large work would wait for ever.
        if (obstacle === "no-room") return false;
        if (obstacle !== undefined) continue;
        this.#remove(work, { user, key });
        if (this.#turns.delete(user)) this.#turns.add(user);
        this.#begin(work, { user, key });
        // Not at once: a thousand pieces would end in each other.
        queueMicrotask(() => {
          if (work.state === "begun") work.start();
        });
        return true;
      }
    }
    return false;
  }

  #remove(work: Work, { user, key }: Place): void {
    user.remove(key, work);
    if (!user.isWaiting) this.#turns.delete(user);
    this.#waiting -= 1;
  }

  #begin(work: Work, { user, key }: Place): void {
    work.state = "begun";
    work.stopWaiting();
    this.#used += work.units;
    user.use(key, work.units);
  }

  /** Why work may not start now: its user has enough, or nothing is left. */
  #obstacle(units: number, { user, key }: Place): "own-limit" | "no-room" | undefined {
    const { all, user: mostOfUser = all, key: mostOfKey = all } = this.#limits;
    const [used, free] = [user.used + units, all - this.#used];
    if (used > mostOfUser || user.usedBy(key) + units > mostOfKey) return "own-limit";
    if (used <= free) return undefined;
    return user.used === 0 ? "no-room" : "own-limit";
  }
}

/** Where a piece of work counts. */
interface Place {
  readonly user: UserShare;
  readonly key: string;
}

const nothing = (): void => {};

/** What is shared, for a piece of work. */
interface Shared {
  readonly enter: (work: Work) => void;
  readonly end: (work: Work, place: Place, state: Work["state"]) => void;
}

class Work implements Share {
  readonly sharer: Sharer;
  readonly units: number;
  readonly #shared: Shared;
  state: "new" | "waiting" | "begun" | "over" = "new";
  place: Place | undefined;
  start: () => void = nothing;
  stopWaiting: Cancel = nothing;

  constructor(sharer: Sharer, units: number, shared: Shared) {
    [this.sharer, this.units, this.#shared] = [sharer, units, shared];
  }

  get isWaiting(): boolean {
    return this.state === "waiting";
  }

  enter(start: () => void): void {
    this.start = start;
    if (this.state === "new") this.#shared.enter(this);
  }

  giveUpAfter(ms: number, clock: Timers, onLate: () => void): void {
    if (!this.isWaiting) return;
    this.stopWaiting = clock.wakeAfter(ms, () => {
      this.end();
      onLate();
    });
  }

  end(): void {
    const { state, place } = this;
    this.state = "over";
    this.stopWaiting();
    if (place !== undefined) this.#shared.end(this, place, state);
  }
}

/** What a user has in use, and what waits. */
class UserShare {
  readonly name: string;
  used = 0;
  readonly #usedByKey = new Map<string, number>();
  /** The keys with waiting work; the first is the next in turn. */
  readonly #waiting = new Map<string, Set<Work>>();

  constructor(name: string) {
    this.name = name;
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  get isIdle(): boolean {
    return this.used === 0 && !this.isWaiting;
  }

  usedBy(key: string): number {
    return this.#usedByKey.get(key) ?? 0;
  }

  use(key: string, units: number): void {
    this.used += units;
    const used = this.usedBy(key) + units;
    if (used === 0) this.#usedByKey.delete(key);
    else this.#usedByKey.set(key, used);
  }

  add(key: string, work: Work): void {
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, new Set([work]));
    else waiting.add(work);
  }

  /** Removes waiting work; its key is then the last in turn. */
  remove(key: string, work: Work): void {
    const waiting = this.#waiting.get(key);
    waiting?.delete(work);
    this.#waiting.delete(key);
    if (waiting !== undefined && waiting.size > 0) this.#waiting.set(key, waiting);
  }

  /** The oldest waiting work of each key. */
  *firstOfKeys(): Generator<readonly [key: string, work: Work]> {
    for (const [key, waiting] of this.#waiting) {
      const [first] = waiting;
      if (first !== undefined) yield [key, first];
    }
  }
}
