import { eventually } from "../support/eventually.ts";
import type { Snapshot } from "../support/snapshot.ts";
import { ChangeStream, dataOf } from "./change-stream.ts";
import type { Worker } from "./worker.ts";
import type { AskedWrite } from "./logbook.ts";
import { endStateOf } from "./play.ts";
import { type ProcessRun, processRun } from "./process-backend.ts";
import type { LeaseSeconds, ProcessInstance } from "./process-instance.ts";
import type { View } from "../support/visible-objects.ts";

/** The options of two controllers. */
export interface PairOptions {
  readonly worker: Worker;
  readonly program: string;
  readonly lease: LeaseSeconds;
}

/** The result of a change of leaders; milliseconds since it was triggered. */
export interface HandOver {
  /** The former leader. */
  readonly old: string;
  readonly firstWriteMs: number;
  /** Until the change that was made after the leader stopped had reached its target. */
  readonly effectiveMs: number;
  /** Later holders of the Lease, in order; empty if it was released. */
  readonly holders: readonly string[];
}

/**
 * Two real processes that share one Lease and are not restarted when they exit, while changes
 * stream.
 */
export class Pair {
  readonly run: ProcessRun;
  readonly stream: ChangeStream;
  readonly #worker: Worker;
  readonly #view: View;
  #marks = 0;
  #onWrite: ((instance: ProcessInstance) => void) | undefined;

  private constructor({ worker, program, lease }: PairOptions, view: View) {
    this.#worker = worker;
    this.#view = view;
    this.run = processRun({ cluster: worker.cluster, view }, { program, lease, restarts: false });
    this.run.activate({ onCall: ({ instance }) => this.#onCall(instance) });
    this.stream = new ChangeStream(this.run, view);
  }

  static async start(options: PairOptions): Promise<Pair> {
    const pair = new Pair(options, await options.worker.nextView());
    await pair.stream.prepare();
    await Promise.all(
      ["a", "b"].map((identity) => pair.run.backend.start({ program: "controller", identity })),
    );
    await pair.run.settle();
    return pair;
  }

  /** The leader and the other process; a process that has exited is restarted. */
  async roles(): Promise<{ readonly leader: ProcessInstance; readonly other: ProcessInstance }> {
    const leading = async () => {
      for (const instance of this.run.backend.instances) instance.revive();
      const vitals = await Promise.all(
        this.run.backend.instances.map((instance) => instance.vitals()),
      );
      const leader = this.run.backend.instances[vitals.findIndex((one) => one?.isLeading === true)];
      const other = this.run.backend.instances.find((instance) => instance !== leader);
      return leader && other && vitals.every((one) => one !== undefined) && { leader, other };
    };
    return eventually(leading, { what: "one of two to lead", every: 20 });
  }

  /**
   * Lets `act` take the lead from the leader during changes; returns when the other process has
   * done the work that followed.
   */
  async handOver(act: (leader: ProcessInstance) => void | Promise<void>): Promise<HandOver> {
    const { leader, other } = await this.roles();
    const { writes, leases } = this.run.logbook;
    const [asked, given, begun] = [writes.length, leases.length, performance.now()];
    const old = leader.process;
    await act(leader);
    const text = `mark ${(this.#marks += 1)}`;
    await this.stream.mark(text);
    const isFirst = ({ process, request }: AskedWrite) =>
      process === other.process && request.plural !== "events";
    const first = await eventually(() => writes.slice(asked).find(isFirst), {
      what: `${other.identity} to write`,
      every: 20,
    });
    const reached = await eventually(() => this.#copyWith(text), {
      what: "the change made meanwhile to reach its target",
      every: 20,
    });
    return {
      old,
      firstWriteMs: Math.round(first.at - begun),
      effectiveMs: Math.round(reached - begun),
      holders: leases
        .slice(given)
        .map(({ holder }) => holder)
        .filter((holder, index, all) => holder !== leader.identity && holder !== all[index - 1]),
    };
  }

  /**
   * Runs something at the moment when a process has requested a write and the API server has not
   * received it yet.
   */
  async atNextWrite(instance: ProcessInstance, act: () => void): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#onWrite = (asking) => {
      if (asking !== instance) return;
      this.#onWrite = undefined;
      act();
      done.resolve();
    };
    await done.promise;
  }

  /**
   * Forwards the delayed requests, and returns the responses of the API server to the writes of the
   * former leader.
   */
  async deliverLate(
    { proxy }: ProcessInstance,
    { old }: HandOver,
  ): Promise<{ readonly refused: number; readonly accepted: number }> {
    const delayed = this.run.logbook.fencedWrites(old).filter(({ answer }) => answer === undefined);
    proxy.release();
    await eventually(() => delayed.every(({ answer }) => answer !== undefined), {
      what: "the late writes to be answered",
      every: 20,
    });
    const accepted = delayed.filter(({ answer }) => (answer?.status ?? 500) < 300).length;
    return { refused: delayed.length - accepted, accepted };
  }

  /**
   * Ends the changes; returns the objects when the system is idle, without the list of revoked
   * tokens: it keeps the tokens of earlier changes until they expire.
   */
  async outcome(): Promise<Snapshot> {
    await this.stream.end();
    await this.run.settle();
    const state = await endStateOf(this.#worker.cluster, this.#view);
    return state.filter((text) => !text.includes('"kind": "RevokedTokens"'));
  }

  /**
   * Ends every fault, restarts processes that have exited, and waits until both watch the cluster.
   */
  async recover(): Promise<void> {
    for (const instance of this.run.backend.instances) {
      instance.proxy.release();
      instance.resume();
    }
    for (const instance of this.run.backend.instances) instance.revive();
    await Promise.all(this.run.backend.instances.map(({ controller }) => controller.waitReady()));
  }

  #onCall(instance: ProcessInstance): undefined {
    this.#onWrite?.(instance);
  }

  /** The time at which a copy with that text was written. */
  #copyWith(text: string): number | undefined {
    const { password } = dataOf(text);
    const isIt = ({ request, answer }: AskedWrite) =>
      request.plural === "secrets" &&
      answer !== undefined &&
      answer.status < 300 &&
      answer.sent.includes(`"${password}"`);
    return this.run.logbook.writes.find(isIt)?.answer?.at;
  }
}
