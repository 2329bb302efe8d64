import { type Assembly, assembleController } from "../../src/controllers/assemble.ts";
import type { CandidacyEnd, LeaseTimes } from "../../src/kube/lease.ts";
import type { Logger } from "../../src/runtime/log.ts";
import { type BusyMetrics, busyMetrics } from "./busy-metrics.ts";
import { JumpClock } from "./jump-clock.ts";
import { FaultProxy, type ProxyOptions } from "./proxy.ts";
import type { World } from "./world.ts";

/** How a controller of a run is started. */
export interface InstanceOptions {
  readonly world: World;
  readonly identity: string;
  /** How far its clock is ahead of real time, in milliseconds. */
  readonly offset: number;
  readonly random: () => number;
  readonly proxy: Omit<ProxyOptions, "upstream">;
  /** Told of log lines that stand for a mistake of Latchkey's own. */
  readonly onMistake: (line: string) => void;
  /** Told when it ends of itself: its Lease is lost, and a process would exit. */
  readonly onEnd: (end: CandidacyEnd) => void;
  readonly assemble?: typeof assembleController;
}

/** A controller in this process, behind a proxy and with a clock of its own. */
export class Instance {
  readonly clock: JumpClock;
  readonly proxy: FaultProxy;
  readonly #metrics: BusyMetrics;
  readonly #assembly: Assembly;
  readonly #stop = new AbortController();
  #isStanding = false;

  private constructor({ world, identity, offset, random, onMistake, onEnd, ...options }: InstanceOptions, proxy: FaultProxy) {
    this.clock = new JumpClock(offset);
    this.proxy = proxy;
    this.#metrics = busyMetrics(() => options.proxy.events.onTraffic());
    const settings = { ...defaultSettings, namespace: options.proxy.view.system, identity };
    const credentials = { ...world.credentials, server: proxy.url };
    const assemble = options.assemble ?? assembleController;
    this.#assembly = assemble(settings, { credentials, clock: this.clock, random, log: listener(onMistake), metrics: this.#metrics });
    this.#assembly.run(this.#stop.signal).then(
      (end) => this.#stop.signal.aborted || onEnd(end),
      (error: unknown) => onMistake(`the controller rejects: ${String(error)}`),
    );
  }

  static async start(options: InstanceOptions): Promise<Instance> {
    return new Instance(options, await FaultProxy.start({ ...options.proxy, upstream: options.world.upstream }));
  }

  get isStanding(): boolean {
    return this.#isStanding;
  }

  get bugs(): number {
    return this.#metrics.bugs();
  }

  /** Whether it leads, follows everything and has nothing to do. */
  isIdle(): boolean {
    const following = this.proxy.watches.length >= informers;
    return this.#metrics.isLeading() && following && this.#metrics.busy() === 0 && this.proxy.inFlight === 0;
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
    void this.#assembly.close();
  }
}

/** Long ones: a minute of the clock takes few renewals then. */
export const leaseTimes: LeaseTimes = { leaseDuration: 60_000, renewDeadline: 40_000, retryPeriod: 15_000 };

/** As many as createInformers makes. */
const informers = 18;

const defaultSettings = {
  prefixes: { user: "", team: "" },
  issuer: "https://latchkey.latchkey-system.svc",
  audience: "management.service/direct",
  maximumKeyTtl: 0,
  maximumTokenTtl: 86_400,
  deleteExpiredTokensAfter: 3_600,
  deleteExpiredKeysAfter: undefined,
  workers: 16,
  writers: 16,
  lease: leaseTimes,
};

/** A lost Lease is an error too, and a fault may mean it. */
function listener(onMistake: (line: string) => void): Logger {
  return {
    debug() {},
    info() {},
    warn() {},
    error: (fields, message) => message === "lease lost" || onMistake(`${message} ${JSON.stringify(fields, withErrors)}`),
  };
}

function withErrors(_field: string, value: unknown): unknown {
  return value instanceof Error ? value.stack : value;
}
