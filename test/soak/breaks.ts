import { controllerWatches } from "../support/fake-informers.ts";
import type { OpenWatch } from "../support/open-watch.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import { pick } from "./slots.ts";

/** A way to break a watch, and whether it applies to all watches at once. */
interface Breakage {
  readonly name: string;
  readonly all: boolean;
  readonly apply: (watch: OpenWatch) => void;
}

const breakages: readonly [Breakage, ...Breakage[]] = [
  { name: "cut", all: false, apply: (watch) => watch.cut() },
  { name: "cut all", all: true, apply: (watch) => watch.cut() },
  { name: "half-open", all: false, apply: (watch) => watch.silence() },
  { name: "410", all: false, apply: (watch) => watch.expire() },
  { name: "410 all", all: true, apply: (watch) => watch.expire() },
];

const watchesOfController = controllerWatches();

/** Breaks watches: the kind of breakage is random, the resources take turns. */
export class WatchBreaker {
  readonly counts = new Map<string, number>();
  /** When the last watch broke, on the clock of `performance`. */
  lastAt = -Infinity;
  readonly #proxy: FaultProxy;
  readonly #random: () => number;
  readonly #turns = new Map<string, number>();

  constructor(proxy: FaultProxy, random: () => number) {
    this.#proxy = proxy;
    this.#random = random;
  }

  get count(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Whether every watch is open and delivers events. */
  get areWhole(): boolean {
    const { watches } = this.#proxy;
    return watches.length >= watchesOfController && watches.every(({ isAlive }) => isAlive);
  }

  /** Breaks one watch, or all; returns a description. */
  breakNext(): string {
    const { name, all, apply } = pick(breakages, this.#random);
    const alive = this.#proxy.watches.filter(({ isAlive }) => isAlive);
    const one = alive
      .toSorted(
        (some, other) =>
          this.#turnOf(some) - this.#turnOf(other) ||
          (some.request.selection < other.request.selection ? -1 : 1),
      )
      .at(0);
    if (one === undefined) return "nothing to break";
    this.#turns.set(one.request.selection, this.count + 1);
    this.lastAt = performance.now();
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    for (const watch of all ? alive : [one]) apply(watch);
    return all ? name : `${name} ${one.request.plural}`;
  }

  #turnOf({ request }: OpenWatch): number {
    return this.#turns.get(request.selection) ?? 0;
  }
}
