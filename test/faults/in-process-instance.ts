import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "../../src/runtime/log.ts";
import { apiServerName } from "../../src/webhooks/review-route.ts";
import { FakeExchange } from "../support/fake-exchange.ts";
import { FaultProxy, type ProxyOptions } from "../support/fault-proxy.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import { type Instance, isMistake } from "./backend.ts";
import { type BusyMetrics, busyMetrics } from "./busy-metrics.ts";
import { JumpClock } from "./jump-clock.ts";
import type { Program, ProgramName, RunningProgram } from "./programs.ts";

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

/** An answer of a gateway. */
export interface GatewayAnswer {
  readonly status: number;
  readonly object: unknown;
  /** Whether the same process had accepted a key before. */
  readonly hadAccepted: boolean;
}

const answerWithinMs = 2_000;

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
  #hasAccepted = false;

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
    const central = { ...cluster.credentials.admin, server: proxy.url };
    this.#running = program.assemble(
      { view: options.proxy.view, identity },
      {
        credentials,
        central,
        clock: this.clock,
        random,
        log: mistakeLog(onMistake),
        metrics: this.#metrics,
      },
    );
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
      { clientName: apiServerName, address: "192.0.2.1" },
    );
    return answer?.status === 200 ? JSON.parse(answer.body) : undefined;
  }

  /**
   * Asks a gateway who the user of a key is; undefined if there is no answer, because the process
   * has just been killed or suspended.
   */
  async present(key: string): Promise<GatewayAnswer | undefined> {
    const { handler } = this.#running;
    if (handler === undefined) return undefined;
    const body = JSON.stringify({
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
    });
    const fields = ["Content-Type", "application/json", "Content-Length", `${body.length}`];
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const exchange = new FakeExchange({ method: "POST", path, key, fields });
    exchange.body.end(body);
    const isOver = new Promise<boolean>((resolve) => exchange.onClose(() => resolve(true)));
    handler.onExchange(exchange);
    const isAnswered = await Promise.race([isOver, pause(answerWithinMs, false, { ref: false })]);
    if (!isAnswered || exchange.isAborted || exchange.answer === undefined) return undefined;
    const { status } = exchange.answer;
    const hadAccepted = this.#hasAccepted;
    this.#hasAccepted ||= status === 201;
    const object: unknown = JSON.parse(exchange.text);
    return { status, object, hadAccepted };
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

  /** What {@link isIdle} depends on, for the error of a run that does not become idle. */
  state(): string {
    const { watches, inFlight, renewing, swallowed } = this.proxy;
    const facts = {
      isPaused: this.isPaused,
      isLeading: this.#metrics.isLeading(),
      watches: `${watches.length} of ${this.#running.watches}`,
      busy: this.#metrics.busy(),
      inFlight,
      renewing,
      swallowed,
    };
    return `${this.process}: ${JSON.stringify(facts)}`;
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
