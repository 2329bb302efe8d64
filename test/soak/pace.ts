import { setTimeout as pause } from "node:timers/promises";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { Change } from "./change.ts";

/** What became of the changes of one sort. */
export interface Outcome {
  /** The API server has made them. */
  done: number;
  /** Answered with 404 or 409: the driver's own changes, or Latchkey's, were there first. */
  late: number;
  /** Answered otherwise or not at all. */
  failed: number;
}

/** How often and how long changes are sent, and what ends them early. */
export interface Pace {
  readonly seconds: number;
  readonly perSecond: number;
  readonly isOver: () => boolean;
}

/** Sends changes and counts what becomes of them. */
export class Driver {
  readonly outcomes = new Map<string, Outcome>();
  /** What some of the failed ones were answered. */
  readonly failures: string[] = [];
  heldBack = 0;
  readonly #cluster: ProxiedCluster;
  readonly #underWay = new Set<Promise<void>>();

  constructor(cluster: ProxiedCluster) {
    this.#cluster = cluster;
  }

  /** Counts of all sorts together. */
  get total(): Outcome {
    const all = [...this.outcomes.values()];
    const sum = (field: keyof Outcome): number =>
      all.reduce((total, outcome) => total + outcome[field], 0);
    return { done: sum("done"), late: sum("late"), failed: sum("failed") };
  }

  /** Sends at a fixed pace, whatever the answers; `next` gets the number of the change, from 0. */
  async drive({ seconds, perSecond, isOver }: Pace, next: (number: number) => void): Promise<void> {
    const began = performance.now();
    for (let number = 0; number < seconds * perSecond && !isOver(); number += 1) {
      const wait = (number * 1000) / perSecond - (performance.now() - began);
      if (wait > 1) await pause(wait);
      next(number);
    }
    await this.settled();
  }

  /**
   * Sends one change without waiting for it; none, because everything waits for its answer, counts
   * as held back.
   */
  send(change: Change | undefined): void {
    if (change === undefined) {
      this.heldBack += 1;
      return;
    }
    const sending = this.perform(change).then(() => void this.#underWay.delete(sending));
    this.#underWay.add(sending);
  }

  /** Waits until everything is answered. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Sends one change; never throws. */
  async perform({ sort, by, request, settle }: Change): Promise<void> {
    const outcome = this.outcomes.get(sort) ?? { done: 0, late: 0, failed: 0 };
    this.outcomes.set(sort, outcome);
    const answer = await this.#cluster
      .ask(by, request)
      .catch((error: unknown) => ({ code: 599, message: String(error), metadata: {} }));
    settle(answer);
    if (answer.code < 300) outcome.done += 1;
    else if (answer.code === 404 || answer.code === 409) outcome.late += 1;
    else {
      outcome.failed += 1;
      if (this.failures.length < 10)
        this.failures.push(
          `${sort}: ${request.method} ${request.path}: ${answer.code} ${answer.message}`,
        );
    }
  }
}
