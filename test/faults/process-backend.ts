import { setTimeout as pause } from "node:timers/promises";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { View } from "../support/visible-objects.ts";
import { untilStill } from "../support/until-still.ts";
import { type Backend, type BackendContext, neverSettles, type Start } from "./backend.ts";
import { type LeaseSeconds, ProcessInstance } from "./process-instance.ts";
import { Run } from "./run.ts";
import type { Change, WithObject } from "./scenario.ts";
import type { Step } from "../support/actions.ts";

/** Options of real processes. */
export interface ProcessOptions {
  /** The path of Latchkey's bundle. */
  readonly program: string;
  readonly lease: LeaseSeconds;
  /** Whether processes that exit are restarted. */
  readonly restarts: boolean;
}

/** A run of real processes, which share one Lease. */
export type ProcessRun = Run<ProcessBackend>;

/** A run of real processes, in real time. */
export function processRun(
  place: { readonly cluster: ProxiedCluster; readonly view: View },
  options: ProcessOptions,
): ProcessRun {
  const { cluster, view } = place;
  return new Run({
    cluster,
    view,
    now: () => performance.now(),
    backend: (context: BackendContext<ProcessInstance>) => new ProcessBackend(context, options),
    target: (backend) => backend.instances.at(-1),
  });
}

/**
 * Milliseconds between two looks, the number of looks without a change that count as idle, and the
 * timeout; attempts of a request, and the milliseconds between two.
 */
const times = { every: 60, looks: 10, limit: 120_000, tries: 7_500, between: 20 } as const;

/** Runs Latchkey's controller as real processes, in real time. */
export class ProcessBackend implements Backend<ProcessInstance> {
  readonly instances: ProcessInstance[] = [];
  readonly #context: BackendContext<ProcessInstance>;
  readonly #options: ProcessOptions;
  #mark: string | undefined;

  constructor(context: BackendContext<ProcessInstance>, options: ProcessOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Starts another process; the first process of a new Lease leads. */
  async start({ program, identity = "a" }: Start): Promise<ProcessInstance> {
    if (program !== "controller") throw new Error(`the ${program} does not run as a process here`);
    const { cluster, view, traffic } = this.#context;
    const instance: ProcessInstance = await ProcessInstance.start({
      ...this.#options,
      cluster,
      view,
      identity,
      traffic,
    });
    this.instances.push(instance);
    return instance;
  }

  async startMissing(): Promise<void> {
    if (this.instances.length === 0) await this.start({ program: "controller" });
  }

  kill(instance: ProcessInstance): Promise<void> {
    return instance.kill();
  }

  async stop(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.end()));
    for (const mistake of this.instances.flatMap((instance) => instance.mistakes()))
      this.#context.onMistake(mistake);
  }

  /** Waits until one process leads and the system is idle. */
  untilQuiet(): Promise<void> {
    this.#mark = undefined;
    return untilStill({
      isQuiet: () => this.#isUnchanged(),
      looks: times.looks,
      everyMs: times.every,
      within: times.limit,
      failure: () => neverSettles(this.#context.logbook),
    });
  }

  /** Waits for one second of real time. */
  async idle(): Promise<void> {
    await pause(1_000);
  }

  async beforeRetry(tries: number, last: string): Promise<void> {
    if (tries > times.tries) throw new Error(last);
    await pause(times.between);
  }

  async change(change: Exclude<Change, Step | WithObject>): Promise<void> {
    if ("nextSecond" in change) await pause(1_000);
    else if ("outageMs" in change) {
      const lasting = this.instances.filter(({ isPaused }) => !isPaused);
      await Promise.all(lasting.map((instance) => instance.down()));
      await pause(change.outageMs);
      for (const instance of lasting) instance.up();
    } else throw new Error("a real process is not asked this");
  }

  async #isUnchanged(): Promise<boolean> {
    const before = this.#mark;
    this.#mark = await this.#markNow();
    return this.#mark !== undefined && this.#mark === before;
  }

  /**
   * A value that does not change while the system is idle; undefined while it is busy, or without a
   * leader.
   */
  async #markNow(): Promise<string | undefined> {
    const running = this.instances.filter(({ isPaused }) => !isPaused);
    const vitals = await Promise.all(running.map((instance) => instance.vitals()));
    const leaders = vitals.filter((one) => one?.isLeading === true);
    const isBusy =
      vitals.some((one) => one === undefined || one.waiting > 0) ||
      running.some(({ proxy }) => proxy.inFlight > 0);
    const reconciles = vitals.map((one) => one?.reconciles ?? 0);
    if (isBusy || leaders.length !== 1 || Math.max(...reconciles) === 0) return undefined;
    return `${reconciles.join(" ")} ${this.#context.logbook.writes.length}`;
  }
}
