import { setTimeout as pause } from "node:timers/promises";
import type { Ask, Caller } from "../support/cluster-connection.ts";
import { eventually } from "../support/eventually.ts";
import type { ApiRequest } from "../support/api-request.ts";
import { Logbook } from "./logbook.ts";
import type { ProxyAnswer } from "../support/fault-proxy.ts";
import { type LeaseSeconds, Replica } from "./replica.ts";
import type { View } from "../support/visible-objects.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** A write of a process at which a fault may be injected. */
export interface ProcessCall {
  readonly request: ApiRequest;
  readonly replica: Replica;
  readonly forward: () => Promise<ProxyAnswer>;
}

/** How a run of processes is set up. */
export interface ProcessRunOptions {
  readonly cluster: ProxiedCluster;
  readonly view: View;
  readonly program: string;
  readonly lease: LeaseSeconds;
  /** Whether processes that die are started again. */
  readonly restarts: boolean;
  /** Asked before each write is sent; undefined lets it pass. */
  readonly onCall?: (call: ProcessCall) => Promise<ProxyAnswer | "drop"> | undefined;
}

/** Milliseconds between two looks, and how many looks without a change count as rest. */
const rest = { every: 60, looks: 10 } as const;

/** Real processes and their traffic while something is played; they share one Lease. */
export class ProcessRun {
  readonly logbook: Logbook;
  readonly replicas: Replica[] = [];
  readonly mistakes: string[] = [];
  readonly #options: ProcessRunOptions;
  /** Ends what lasts, once everything has come to rest. */
  finish: (() => Promise<void>) | undefined;

  constructor(options: ProcessRunOptions) {
    this.#options = options;
    this.logbook = new Logbook(options.view);
  }

  /** Starts another process; the first one of a fresh Lease leads. */
  async start(name: string): Promise<Replica> {
    const { cluster, view, program, lease, restarts, onCall } = this.#options;
    const write = (replica: Replica) => (request: ApiRequest, forward: ProcessCall["forward"]) =>
      onCall?.({ request, replica, forward }) ?? forward();
    const steering = (replica: Replica) => ({ write: write(replica) });
    const replica = await Replica.start({
      cluster,
      view,
      program,
      name,
      lease,
      restarts,
      logbook: this.logbook,
      steering,
    });
    this.replicas.push(replica);
    return replica;
  }

  /**
   * Waits until one process leads and nothing is to be done, then ends what lasts and waits again.
   */
  async settle(within = 120_000): Promise<void> {
    await this.#rest(within);
    const { finish } = this;
    this.finish = undefined;
    if (finish === undefined) return;
    await finish();
    await this.#rest(within);
  }

  /** One second of real time; answers the writes that were asked for meanwhile. */
  async quiet(): Promise<readonly string[]> {
    const asked = this.logbook.writes.length;
    await pause(1_000);
    return this.logbook.writes
      .slice(asked)
      .map(({ process, sentence }) => `${process}: ${sentence}`);
  }

  /** Asks until the answer is one of `until`. */
  async perform(by: Caller, request: Ask, until: readonly number[]): Promise<void> {
    let last = "";
    const isDone = async () => {
      const { code, message } = await this.#options.cluster.ask(by, request);
      last = `${code} ${message}`;
      return until.includes(code);
    };
    const what = `${request.method} ${request.path}`;
    await eventually(isDone, { what, every: 20 }).catch((cause: unknown) => {
      throw new Error(`${what}: ${last}`, { cause });
    });
  }

  /** Stops all processes; what their logs call mistakes is added to those of the run. */
  async end(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.end()));
    this.mistakes.push(...this.replicas.flatMap((replica) => replica.mistakes()));
  }

  async #rest(within: number): Promise<void> {
    const seen = { looks: 0, mark: "" };
    const look = async () => {
      const mark = await this.#mark();
      seen.looks = mark !== undefined && mark === seen.mark ? seen.looks + 1 : 0;
      seen.mark = mark ?? "";
      return seen.looks >= rest.looks;
    };
    await eventually(look, {
      what: `rest after ${this.logbook.ledger.asked.slice(-3).join("; ")}`,
      every: rest.every,
      within,
    });
  }

  /**
   * What stays the same while nothing is done; undefined while something is to be done, or nobody
   * leads.
   */
  async #mark(): Promise<string | undefined> {
    const running = this.replicas.filter(({ isStanding }) => !isStanding);
    const vitals = await Promise.all(running.map((replica) => replica.vitals()));
    const leaders = vitals.filter((one) => one?.isLeading === true);
    const isBusy =
      vitals.some((one) => one === undefined || one.waiting > 0) ||
      running.some(({ proxy }) => proxy.inFlight > 0);
    const passes = vitals.map((one) => one?.passes ?? 0);
    if (isBusy || leaders.length !== 1 || Math.max(...passes) === 0) return undefined;
    return `${passes.join(" ")} ${this.logbook.writes.length}`;
  }
}
