import type { Logger } from "../../src/runtime/log.ts";
import { apiServerName } from "../../src/webhooks/client-credentials.ts";
import { type BusyMetrics, busyMetrics } from "./busy-metrics.ts";
import { type Instance, isMistake } from "./backend.ts";
import { JumpClock } from "./jump-clock.ts";
import type { Program, ProgramName, RunningProgram } from "./programs.ts";
import { FaultProxy, type ProxyOptions } from "../support/fault-proxy.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** How a process of a run is started. */
export interface InProcessInstanceOptions {
  readonly cluster: ProxiedCluster;
  readonly identity: string;
  /** Distinguishes it from earlier processes. */
  readonly process: string;
  /** How far its clock is ahead of real time, in milliseconds. */
  readonly ahead: number;
  readonly random: () => number;
  readonly proxy: Omit<ProxyOptions, "upstream">;
  /** Called with log lines of unexpected errors. */
  readonly onMistake: (line: string) => void;
  /** Called when it ends by itself: its Lease is lost, and a process would exit. */
  readonly onEnd: () => void;
  readonly name: ProgramName;
  readonly program: Program;
}

/** One of Latchkey's programs in this process, with its own proxy and clock. */
export class InProcessInstance implements Instance {
  readonly process: string;
  readonly clock: JumpClock;
  readonly proxy: FaultProxy;
  readonly #metrics: BusyMetrics;
  readonly name: ProgramName;
  readonly #program: Program;
  readonly #running: RunningProgram;
  readonly #stop = new AbortController();
  #isPaused = false;

  private constructor(
    {
      cluster,
      identity,
      process,
      ahead,
      random,
      onMistake,
      onEnd,
      name,
      program,
      ...options
    }: InProcessInstanceOptions,
    proxy: FaultProxy,
  ) {
    this.name = name;
    this.process = process;
    this.#program = program;
    this.clock = new JumpClock(ahead);
    this.proxy = proxy;
    this.#metrics = busyMetrics(() => options.proxy.events.onTraffic());
    const credentials = { ...cluster.credentials[program.account], server: proxy.url };
    const place = { namespace: options.proxy.view.system, identity };
    this.#running = program.assemble(place, {
      credentials,
      clock: this.clock,
      random,
      log: mistakeLog(onMistake),
      metrics: this.#metrics,
    });
    this.#running.run(this.#stop.signal).then(
      () => this.#stop.signal.aborted || onEnd(),
      (error: unknown) => onMistake(`the ${name} rejects: ${String(error)}`),
    );
  }

  static async start(options: InProcessInstanceOptions): Promise<InProcessInstance> {
    return new InProcessInstance(
      options,
      await FaultProxy.start({ ...options.proxy, upstream: options.cluster.upstream }),
    );
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get bugs(): number {
    return this.#metrics.bugs();
  }

  /** Sends a request to a webhook like kube-apiserver; undefined if the response is an error. */
  async ask(path: string, review: object): Promise<unknown> {
    const route = this.#running.routes.find((one) => one.path === path);
    const answer = await route?.handler(
      { method: "POST", path, body: JSON.stringify(review) },
      { clientName: apiServerName },
    );
    return answer?.status === 200 ? JSON.parse(answer.body) : undefined;
  }

  /** Whether it leads, if it must, watches everything and has an empty queue. */
  isIdle(): boolean {
    const following = this.proxy.watches.length >= this.#running.watches;
    return (
      (!this.#program.leads || this.#metrics.isLeading()) &&
      following &&
      this.#metrics.busy() === 0 &&
      this.proxy.inFlight === 0
    );
  }

  pause(): void {
    this.#isPaused = true;
    this.clock.pause();
    this.proxy.hold();
  }

  resume(): void {
    this.#isPaused = false;
    this.clock.resume();
    this.proxy.release();
  }

  /** Ends it like kill -9: at once, without a request to the API server. */
  crash(): void {
    this.proxy.kill();
    this.#stop.abort();
    this.clock.pause();
    void this.#running.close();
  }
}

function mistakeLog(onMistake: (line: string) => void): Logger {
  return {
    debug() {},
    info() {},
    warn() {},
    error(fields, message) {
      if (isMistake("error", message))
        onMistake(`${message} ${JSON.stringify(fields, withErrors)}`);
    },
  };
}

function withErrors(_field: string, value: unknown): unknown {
  return value instanceof Error ? value.stack : value;
}
