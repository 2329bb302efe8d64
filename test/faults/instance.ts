import type { Logger } from "../../src/runtime/log.ts";
import { apiServerName } from "../../src/webhooks/client-credentials.ts";
import { type BusyMetrics, busyMetrics } from "./busy-metrics.ts";
import { JumpClock } from "./jump-clock.ts";
import type { Program, ProgramName, RunningProgram } from "./programs.ts";
import { FaultProxy, type ProxyOptions } from "../support/fault-proxy.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** How a process of a run is started. */
export interface InstanceOptions {
  readonly cluster: ProxiedCluster;
  readonly identity: string;
  /** How far its clock is ahead of real time, in milliseconds. */
  readonly offset: number;
  readonly random: () => number;
  readonly proxy: Omit<ProxyOptions, "upstream">;
  /** Told of log lines that stand for a mistake of Latchkey's own. */
  readonly onMistake: (line: string) => void;
  /** Told when it ends of itself: its Lease is lost, and a process would exit. */
  readonly onEnd: () => void;
  readonly name: ProgramName;
  readonly program: Program;
}

/** One of Latchkey's programs in this process, behind a proxy and with a clock of its own. */
export class Instance {
  readonly clock: JumpClock;
  readonly proxy: FaultProxy;
  readonly #metrics: BusyMetrics;
  readonly name: ProgramName;
  readonly #program: Program;
  readonly #running: RunningProgram;
  readonly #stop = new AbortController();
  #isStanding = false;

  private constructor(
    {
      cluster,
      identity,
      offset,
      random,
      onMistake,
      onEnd,
      name,
      program,
      ...options
    }: InstanceOptions,
    proxy: FaultProxy,
  ) {
    this.name = name;
    this.#program = program;
    this.clock = new JumpClock(offset);
    this.proxy = proxy;
    this.#metrics = busyMetrics(() => options.proxy.events.onTraffic());
    const credentials = { ...cluster.credentials[program.account], server: proxy.url };
    const place = { namespace: options.proxy.view.system, identity };
    this.#running = program.assemble(place, {
      credentials,
      clock: this.clock,
      random,
      log: listener(onMistake),
      metrics: this.#metrics,
    });
    this.#running.run(this.#stop.signal).then(
      () => this.#stop.signal.aborted || onEnd(),
      (error: unknown) => onMistake(`the ${name} rejects: ${String(error)}`),
    );
  }

  static async start(options: InstanceOptions): Promise<Instance> {
    return new Instance(
      options,
      await FaultProxy.start({ ...options.proxy, upstream: options.cluster.upstream }),
    );
  }

  get isStanding(): boolean {
    return this.#isStanding;
  }

  get bugs(): number {
    return this.#metrics.bugs();
  }

  /** Asks a webhook as kube-apiserver does; undefined when it is no answer to build on. */
  async ask(path: string, review: object): Promise<unknown> {
    const route = this.#running.routes.find((one) => one.path === path);
    const answer = await route?.handler(
      { method: "POST", path, body: JSON.stringify(review) },
      { clientName: apiServerName },
    );
    return answer?.status === 200 ? JSON.parse(answer.body) : undefined;
  }

  /** Whether it leads, where it has to, follows everything and has nothing to do. */
  isIdle(): boolean {
    const following = this.proxy.watches.length >= this.#running.watches;
    return (
      (!this.#program.leads || this.#metrics.isLeading()) &&
      following &&
      this.#metrics.busy() === 0 &&
      this.proxy.inFlight === 0
    );
  }

  /** The process gets no turn any more; what is on its way to it or from it waits. */
  stand(): void {
    this.#isStanding = true;
    this.clock.stand();
    this.proxy.hold();
  }

  goOn(): void {
    this.#isStanding = false;
    this.clock.goOn();
    this.proxy.release();
  }

  /** Ends it as kill -9 does: at once, with nothing said to anybody. */
  crash(): void {
    this.proxy.kill();
    this.#stop.abort();
    this.clock.stand();
    void this.#running.close();
  }
}

/** A lost Lease is an error too, and a fault may mean it. */
function listener(onMistake: (line: string) => void): Logger {
  return {
    debug() {},
    info() {},
    warn() {},
    error: (fields, message) =>
      message === "Lease lost" || onMistake(`${message} ${JSON.stringify(fields, withErrors)}`),
  };
}

function withErrors(_field: string, value: unknown): unknown {
  return value instanceof Error ? value.stack : value;
}
