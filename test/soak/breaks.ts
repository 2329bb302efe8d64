import type { OpenWatch } from "../support/open-watch.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import { pick } from "./slots.ts";

/** A way in which a watch breaks, and whether that befalls all watches together. */
interface Breakage {
  readonly name: string;
  readonly all: boolean;
  readonly strike: (watch: OpenWatch) => void;
}

const breakages: readonly [Breakage, ...Breakage[]] = [
  { name: "cut", all: false, strike: (watch) => watch.cut() },
  { name: "cut all", all: true, strike: (watch) => watch.cut() },
  { name: "half-open", all: false, strike: (watch) => watch.silence() },
  { name: "410", all: false, strike: (watch) => watch.expire() },
  { name: "410 all", all: true, strike: (watch) => watch.expire() },
];

/** Watches that the controller holds, see createInformers. */
const informers = 15;

/** Breaks watches: the sort by chance, the resources in turn. */
export class WatchBreaker {
  readonly counts = new Map<string, number>();
  /** When the last one broke, on the clock of `performance`. */
  lastAt = -Infinity;
  readonly #proxy: FaultProxy;
  readonly #random: () => number;
  readonly #yielder = new Map<string, number>();

  constructor(proxy: FaultProxy, random: () => number) {
    this.#proxy = proxy;
    this.#random = random;
  }

  get count(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Whether every watch is open and says what happens. */
  get areWhole(): boolean {
    const { watches } = this.#proxy;
    return watches.length >= informers && watches.every(({ isAlive }) => isAlive);
  }

  /** Breaks one watch, or all; answers what was done in words. */
  strike(): string {
    const { name, all, strike } = pick(breakages, this.#random);
    const alive = this.#proxy.watches.filter(({ isAlive }) => isAlive);
    const one = alive
      .toSorted(
        (some, other) =>
          this.#turnOf(some) - this.#turnOf(other) ||
          (some.request.selection < other.request.selection ? -1 : 1),
      )
      .at(0);
    if (one === undefined) return "nothing to break";
    this.#yielder.set(one.request.selection, this.count + 1);
    this.lastAt = performance.now();
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    for (const watch of all ? alive : [one]) strike(watch);
    return all ? name : `${name} ${one.request.plural}`;
  }

  #turnOf({ request }: OpenWatch): number {
    return this.#yielder.get(request.selection) ?? 0;
  }
}
