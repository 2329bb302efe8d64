import { setTimeout as pause } from "node:timers/promises";
import { assembleController } from "../../src/controllers/assemble.ts";
import { listAt } from "../../src/api/parse.ts";
import type { Ask, Caller } from "../support/cluster-connection.ts";
import { type ApiRequest, apiRequest } from "../support/api-request.ts";
import { Instance } from "./instance.ts";
import { Ledger } from "./ledger.ts";
import type { OpenWatch } from "../support/open-watch.ts";
import { type Program, type ProgramName, programsWith } from "./programs.ts";
import type { NoAnswer, ProxyAnswer, Steering } from "../support/fault-proxy.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { isVisible, type View } from "../support/visible-objects.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** A write of a run at which a fault may be injected. */
export interface Call {
  readonly request: ApiRequest;
  readonly instance: Instance;
  readonly forward: () => Promise<ProxyAnswer>;
}

/** What disturbs a run; see the table of faults. */
export interface ActiveFault {
  /** Asked before each write is sent; undefined lets it pass. */
  onCall?(call: Call): Promise<ProxyAnswer | NoAnswer> | undefined;
  readonly steering?: Steering;
  /**
   * Ends what lasts: asked when nothing moves any more; true when that may have set something in
   * motion.
   */
  finish?(): Promise<boolean>;
}

/** How a run is set up. */
export interface RunOptions {
  readonly cluster: ProxiedCluster;
  /** Begins every name of the run. */
  readonly view: View;
  readonly seed: number;
  /** What runs; a controller alone unless told. */
  readonly programs?: readonly ProgramName[];
  readonly assemble?: typeof assembleController;
}

/**
 * Real milliseconds without traffic that count as calm, in so many looks, and that may pass without
 * progress before the clock jumps.
 */
const times = { calm: 15, longestCalm: 250, looks: 5, stuck: 20_000, limit: 60_000 } as const;
/** Milliseconds of the clock in one jump: shorter than any wait for the Lease. */
const jumpMs = 5_000;

/** Processes, their clocks and their traffic, while one scenario is played. */
export class Run {
  readonly ledger: Ledger;
  readonly mistakes: string[] = [];
  readonly instances = new Set<Instance>();
  readonly #options: RunOptions;
  readonly #random: () => number;
  readonly #lists = new Map<string, string>();
  readonly #listed = new Map<string, ApiRequest>();
  /** So long without traffic counts as calm, in milliseconds. */
  #calmMs: number = times.calm;
  /** Collections that were written to since all was calm. */
  readonly #touched = new Set<string>();
  #active: ActiveFault = {};
  #offset = 0;
  #movedAt = performance.now();
  #identity = "a";
  readonly #programs: Readonly<Record<ProgramName, Program>>;
  /** Events that a fault holds back. */
  pendingEvents = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    this.ledger = new Ledger(options.view, () => this.now());
    this.#random = seededRandom(options.seed);
    this.#programs = programsWith(options.assemble ?? assembleController);
  }

  get seed(): number {
    return this.#options.seed;
  }

  activate(active: ActiveFault): void {
    this.#active = active;
  }

  /** The list of an earlier time, as it was recorded. */
  earlierList({ selection }: ApiRequest): string | undefined {
    return this.#lists.get(selection);
  }

  forgetEarlierList({ selection }: ApiRequest): void {
    this.#lists.delete(selection);
  }

  get watches(): readonly OpenWatch[] {
    return [...this.instances].flatMap((instance) => instance.proxy.watches);
  }

  /** Milliseconds of the clock that all controllers of the run share, from an arbitrary start. */
  now(): number {
    return performance.now() + this.#offset;
  }

  moved(): void {
    this.#movedAt = performance.now();
  }

  /** The names of all that has to run. */
  get names(): readonly ProgramName[] {
    return this.#options.programs ?? ["controller"];
  }

  /** Starts whatever does not run at all. */
  async startMissing(): Promise<void> {
    for (const name of this.names) {
      if (![...this.instances].some((instance) => instance.name === name)) await this.start(name);
    }
  }

  /** Starts a program; another identity than before competes for the Lease. */
  async start(name: ProgramName, identity = this.#identity): Promise<Instance> {
    this.#identity = identity;
    const { cluster, view } = this.#options;
    const instance: Instance = await Instance.start({
      cluster,
      identity,
      offset: this.#offset,
      random: this.#random,
      proxy: { view, steering: this.#steering(() => instance), events: this.#events() },
      onMistake: (line) => this.mistakes.push(line),
      name,
      program: this.#programs[name],
      // A process whose Lease is lost exits, and its supervisor starts it again unless another one
      // leads.
      onEnd: () => void this.#replace(instance),
    });
    this.instances.add(instance);
    return instance;
  }

  /** Kills a process as kill -9 does. */
  kill(instance: Instance): void {
    instance.crash();
    if (instance.bugs > 0) this.mistakes.push("a reconcile threw what no failing machine explains");
    this.instances.delete(instance);
  }

  /** Kills a process and starts it again at once. */
  async restart(instance: Instance): Promise<void> {
    this.kill(instance);
    await this.start(instance.name);
  }

  async #replace(instance: Instance): Promise<void> {
    if (!this.instances.has(instance)) return;
    this.kill(instance);
    await this.startMissing();
  }

  /**
   * Moves all clocks on and lets what that wakes come to an end: a request that the API server is
   * still answering would be given up by the next jump, and nothing but the test's own haste would
   * have lost its answer.
   */
  async jump(ms = jumpMs): Promise<void> {
    this.#offset += ms;
    this.ledger.note(`the clock jumps by ${ms} ms`);
    for (const instance of this.instances) instance.clock.jump(ms);
    const patient = performance.now() + times.stuck;
    do await pause(2);
    while (
      [...this.instances].some(
        ({ isStanding, proxy }) =>
          !isStanding &&
          (proxy.renewing > 0 || (proxy.inFlight > 0 && performance.now() < patient)),
      )
    );
  }

  /** Many jumps. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += jumpMs)
      await this.jump(Math.min(jumpMs, ms - passed));
  }

  /**
   * Waits until nothing is to be done and 15 seconds of the clock bring no write; throws when that
   * takes a minute.
   */
  async settle(): Promise<void> {
    const deadline = performance.now() + times.limit;
    do await this.#calmDown(deadline);
    while ((await this.#active.finish?.()) === true);
  }

  async #calmDown(deadline: number): Promise<void> {
    for (let rounds = 0; rounds < 3; rounds += 1) {
      const asked = this.ledger.asked.length;
      await this.#calm(deadline);
      await this.jump();
      await this.#calm(deadline);
      if (this.ledger.asked.length > asked) rounds = -1;
    }
  }

  async #calm(deadline: number): Promise<void> {
    const began = performance.now();
    await this.#options.cluster.arrange({
      method: "GET",
      path: "/api/v1/namespaces?fieldSelector=metadata.name%3Dnobody",
    });
    // What the API server has to send on a busy machine takes as long as its answers do.
    const latencyMs = performance.now() - began;
    this.#calmMs = Math.min(Math.max(times.calm, 4 * latencyMs), times.longestCalm);
    await this.#quieten(deadline);
    while (this.#touched.size > 0) {
      const touched = [...this.#touched];
      this.#touched.clear();
      // The API server answers from its watch cache, once that has caught up: what it tells then is
      // on its way.
      await Promise.all(
        touched.map((path) =>
          this.#options.cluster.arrange({
            method: "GET",
            path: `${path}?fieldSelector=metadata.name%3Dnobody`,
          }),
        ),
      );
      await this.#quieten(deadline);
    }
  }

  async #quieten(deadline: number): Promise<void> {
    let waitingSince = performance.now();
    // Looked at several times: a process that had no turn for a while finds its sockets only after
    // its timers.
    for (let looks = 0; looks < times.looks; looks = this.#isCalm() ? looks + 1 : 0) {
      if (performance.now() > deadline)
        throw new Error(`never settles: ${this.ledger.asked.slice(-5).join("; ")}`);
      await pause(3);
      if (this.#isCalm()) continue;
      const isAsked = [...this.instances].some(
        ({ isStanding, proxy }) => !isStanding && proxy.inFlight > 0,
      );
      if (performance.now() - waitingSince < (isAsked ? times.stuck : 4 * this.#calmMs)) continue;
      await this.jump();
      waitingSince = performance.now();
    }
  }

  #isCalm(): boolean {
    const running = [...this.instances].filter(({ isStanding }) => !isStanding);
    const isIdle =
      running.length > 0 &&
      running.every((instance) => instance.isIdle() && instance.proxy.swallowed === 0);
    return isIdle && this.pendingEvents === 0 && performance.now() - this.#movedAt >= this.#calmMs;
  }

  /**
   * Sixty seconds of the clock and one of real time; answers the writes that were asked for
   * meanwhile.
   */
  async quiet(): Promise<readonly string[]> {
    const asked = this.ledger.asked.length;
    const end = performance.now() + 1_000;
    await this.pass(60_000);
    await pause(Math.max(0, end - performance.now()));
    return this.ledger.asked.slice(asked);
  }

  /** Asks until the answer is one of `until`, while time goes on. */
  async perform(by: Caller, request: Ask, until: readonly number[]): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const { code, message } = await this.#options.cluster.ask(by, request);
      this.#touched.add(collectionOf(request.path));
      if (until.includes(code)) return;
      if (tries > 400) throw new Error(`${request.method} ${request.path}: ${code} ${message}`);
      // Somebody has to do what is waited for.
      await this.startMissing();
      await pause(10);
      if (tries > 3) await this.jump();
    }
  }

  /** Asks a webhook that has its turn; undefined when none answers. */
  async askWebhook(path: string, review: object): Promise<unknown> {
    const webhook = [...this.instances].find(
      ({ name, isStanding }) => name === "webhook" && !isStanding,
    );
    return webhook?.ask(path, review);
  }

  /** Keeps what all lists that a controller has asked for would say now. */
  async recordLists(): Promise<void> {
    const { cluster, view } = this.#options;
    const record = async (request: ApiRequest) => {
      const list = await cluster.arrange({
        method: "GET",
        path: request.isStreamed ? pathOfList(request.path) : request.path,
      });
      const items = listAt(list, "items").filter((item) => isVisible(view, request.plural, item));
      this.#lists.set(request.selection, JSON.stringify({ ...list, items }));
    };
    await Promise.all([...this.#listed.values()].map(record));
  }

  end(): void {
    for (const instance of [...this.instances]) this.kill(instance);
  }

  #steering(self: () => Instance): Steering {
    return {
      write: (request, forward) =>
        this.#active.onCall?.({ request, forward, instance: self() }) ??
        this.#active.steering?.write?.(request, forward) ??
        forward(),
      refuses: (request) => this.#active.steering?.refuses?.(request) === true,
      list: (request) => this.#active.steering?.list?.(request),
      event: (watch, line, deliver) => {
        const { steering } = this.#active;
        if (steering?.event === undefined) deliver();
        else steering.event(watch, line, deliver);
      },
    };
  }

  #events() {
    return {
      onTraffic: () => this.moved(),
      onWrite: (request: ApiRequest) => this.ledger.ask(request),
      onCommit: (request: ApiRequest, sent: string, answer: ProxyAnswer) => {
        this.#touched.add(collectionOf(request.path));
        this.ledger.commit(request, sent, answer);
      },
      onList: (request: ApiRequest) => void this.#listed.set(request.selection, request),
    };
  }
}

/** The same list in one answer. */
function pathOfList(path: string): string {
  const { pathname, searchParams } = new URL(path, "http://proxy");
  for (const parameter of [
    "watch",
    "sendInitialEvents",
    "resourceVersionMatch",
    "allowWatchBookmarks",
    "timeoutSeconds",
  ])
    searchParams.delete(parameter);
  return `${pathname}?${searchParams.toString()}`;
}

/** The collection, over all namespaces, of the object or collection that a path names. */
function collectionOf(path: string): string {
  const { plural } = apiRequest({ url: path });
  const root = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)/.exec(path)?.[0] ?? "";
  return `${root}/${plural}`;
}
