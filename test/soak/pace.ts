import { setTimeout as pause } from "node:timers/promises";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { Change } from "./change.ts";

/** The results of the changes of one kind. */
export interface Outcome {
  /** The API server accepted them. */
  done: number;
  /** Rejected with 404 or 409: another change of the driver, or of Latchkey, came first. */
  late: number;
  /** Failed with another error, or got no response. */
  failed: number;
}

/** The rate and duration of changes, and a condition that ends them early. */
export interface Pace {
  readonly seconds: number;
  readonly perSecond: number;
  readonly isOver: () => boolean;
}

/** Sends changes and counts their results. */
export class Driver {
  readonly outcomes = new Map<string, Outcome>();
  /** Error messages of some of the failed changes. */
  readonly failures: string[] = [];
  heldBack = 0;
  readonly #cluster: ProxiedCluster;
  readonly #underWay = new Set<Promise<void>>();

  constructor(cluster: ProxiedCluster) {
    this.#cluster = cluster;
  }

  /** The counts of all kinds together. */
  get total(): Outcome {
    const all = [...this.outcomes.values()];
    const sum = (field: keyof Outcome): number =>
      all.reduce((total, outcome) => total + outcome[field], 0);
    return { done: sum("done"), late: sum("late"), failed: sum("failed") };
  }

  /**
   * Sends at a fixed rate, regardless of responses; `next` gets the number of the change, from 0.
   */
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
   * Sends one change without waiting for it; undefined, because all objects wait for a response,
   * counts as held back.
   */
  send(change: Change | undefined): void {
    if (change === undefined) {
      this.heldBack += 1;
      return;
    }
    const sending = this.perform(change).then(() => void this.#underWay.delete(sending));
    this.#underWay.add(sending);
  }

  /** Waits for all responses. */
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
