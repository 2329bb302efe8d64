import { setTimeout as pause } from "node:timers/promises";
import { assembleController } from "../../src/controllers/assemble.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { View } from "../support/visible-objects.ts";
import { untilStill } from "../support/until-still.ts";
import { type Backend, type BackendContext, neverSettles, type Start } from "./backend.ts";
import { type GatewayAnswer, InProcessInstance } from "./in-process-instance.ts";
import {
  type AssembleController,
  type Program,
  type ProgramName,
  programsWith,
} from "./programs.ts";
import { Run } from "./run.ts";
import { RunClock } from "./run-clock.ts";
import type { Change, WithObject } from "./scenario.ts";
import type { Step } from "../support/actions.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { performKeyAction } from "./key-actions.ts";

/** Options of programs that run in this process. */
export interface InProcessOptions {
  readonly seed: number;
  /** The programs to run; only the controller by default. */
  readonly programs?: readonly ProgramName[];
  /** Replaces Latchkey's own controller. */
  readonly assemble?: AssembleController;
}

/** A run whose programs run in this process. */
export type InProcessRun = Run<InProcessBackend>;

/** A run in this process, with a clock that starts with it. */
export function inProcessRun(
  place: { readonly cluster: ProxiedCluster; readonly view: View },
  options: InProcessOptions,
): InProcessRun {
  const clock = new RunClock();
  const { cluster, view } = place;
  return new Run({
    cluster,
    view,
    now: () => clock.now(),
    backend: (context: BackendContext<InProcessInstance>) =>
      new InProcessBackend(context, clock, options),
    target: (backend) => backend.target,
  });
}

/**
 * Milliseconds of real time without traffic that count as calm, in this number of looks; the
 * maximum without a response before the clock jumps; and the timeouts of a run that does not become
 * idle.
 */
const times = { calm: 15, longestCalm: 250, looks: 5, stuck: 20_000, limit: 180_000 } as const;
/** Milliseconds of one clock jump: shorter than every timeout of the Lease. */
const jumpMs = 5_000;

/** Runs Latchkey's programs in this process, with clocks that jump. */
export class InProcessBackend implements Backend<InProcessInstance> {
  readonly instances = new Set<InProcessInstance>();
  readonly seed: number;
  /** Events that a fault delays. */
  pendingEvents = 0;
  readonly #context: BackendContext<InProcessInstance>;
  readonly #clock: RunClock;
  readonly #names: readonly ProgramName[];
  readonly #programs: Readonly<Record<ProgramName, Program>>;
  readonly #random: () => number;
  /** Milliseconds without traffic that count as calm. */
  #calmMs: number = times.calm;
  #movedAt = performance.now();
  #identity = "a";
  #starts = 0;
  #started: Promise<void> = Promise.resolve();

  constructor(
    context: BackendContext<InProcessInstance>,
    clock: RunClock,
    { seed, programs = ["controller"], assemble = assembleController }: InProcessOptions,
  ) {
    this.#context = context;
    this.#clock = clock;
    this.seed = seed;
    this.#random = seededRandom(seed);
    this.#names = programs;
    this.#programs = programsWith(assemble);
  }

  /** The running instance of the last program of the run. */
  get target(): InProcessInstance | undefined {
    return [...this.instances].find(({ name }) => name === this.#names.at(-1));
  }

  /** Milliseconds of the clock that all instances share, from an arbitrary start. */
  now(): number {
    return this.#clock.now();
  }

  /** The time by the clocks of all instances, in milliseconds since the epoch. */
  wallClock(): number {
    return performance.timeOrigin + this.#clock.now();
  }

  /** Milliseconds by which that clock is ahead of real time. */
  get ahead(): number {
    return this.#clock.ahead;
  }

  /** Records traffic. */
  moved(): void {
    this.#movedAt = performance.now();
  }

  /** One after the other: two programs that exit at once would start the same one twice. */
  startMissing(): Promise<void> {
    this.#started = this.#started.then(() => this.#startMissing());
    return this.#started;
  }

  async #startMissing(): Promise<void> {
    const isRunning = (program: ProgramName) =>
      [...this.instances].some(({ name }) => name === program);
    for (const program of this.#names) if (!isRunning(program)) await this.start({ program });
  }

  async start({ program, identity = this.#identity }: Start): Promise<InProcessInstance> {
    this.#identity = identity;
    this.#starts += 1;
    const { cluster, view, traffic, onMistake } = this.#context;
    const { steering, events } = traffic(() => instance);
    const { viewIn = (whole) => whole } = this.#programs[program];
    const instance: InProcessInstance = await InProcessInstance.start({
      cluster,
      identity,
      process: `${program}${this.#starts}`,
      ahead: this.#clock.ahead,
      random: this.#random,
      proxy: { view: viewIn(view), steering, events: { ...events, onTraffic: () => this.moved() } },
      onMistake,
      name: program,
      program: this.#programs[program],
      // A process that lost its Lease exits, and its supervisor restarts it unless another one
      // leads.
      onEnd: () => void this.#replace(instance),
    });
    this.instances.add(instance);
    return instance;
  }

  kill(instance: InProcessInstance): void {
    instance.crash();
    if (instance.bugs > 0)
      this.#context.onMistake("a reconcile threw what no failing machine explains");
    this.instances.delete(instance);
  }

  /** Kills an instance and restarts it at once. */
  async restart(instance: InProcessInstance): Promise<void> {
    this.kill(instance);
    await this.start({ program: instance.name });
  }

  async stop(): Promise<void> {
    for (const instance of [...this.instances]) this.kill(instance);
  }

  /**
   * Advances all clocks and waits until the resulting work is done: otherwise the next jump could
   * time out a request that the API server is still processing, and only the speed of the test
   * would have caused that.
   */
  async jump(ms = jumpMs): Promise<void> {
    this.#clock.advance(ms);
    this.#context.logbook.ledger.note(`the clock jumps by ${ms} ms`);
    for (const instance of this.instances) instance.clock.jump(ms);
    const patient = performance.now() + times.stuck;
    do await pause(2);
    while (
      [...this.instances].some(
        ({ isPaused, proxy }) =>
          !isPaused && (proxy.renewing > 0 || (proxy.inFlight > 0 && performance.now() < patient)),
      )
    );
  }

  /** Many jumps. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += jumpMs)
      await this.jump(Math.min(jumpMs, ms - passed));
  }

  /**
   * Waits until the system is idle and 15 seconds of the clock bring no write; throws after a
   * while.
   */
  async untilQuiet(): Promise<void> {
    const { ledger } = this.#context.logbook;
    const deadline = performance.now() + times.limit;
    for (let rounds = 0; rounds < 3; rounds += 1) {
      const asked = ledger.asked.length;
      await this.#calm(deadline);
      await this.jump();
      await this.#calm(deadline);
      if (ledger.asked.length > asked) rounds = -1;
    }
  }

  /** Waits for sixty seconds of the clock and one of real time. */
  async idle(): Promise<void> {
    const end = performance.now() + 1_000;
    await this.pass(60_000);
    await pause(Math.max(0, end - performance.now()));
  }

  async beforeRetry(tries: number, last: string): Promise<void> {
    if (tries > 400) throw new Error(last);
    // A request can succeed only while its programs run.
    await this.startMissing();
    await pause(10);
    if (tries > 3) await this.jump();
  }

  async change(change: Exclude<Change, Step | WithObject>): Promise<void> {
    if ("use" in change || "admit" in change)
      await performKeyAction(this, this.#context.cluster, change);
    else if ("passMs" in change) await this.pass(change.passMs);
    else if ("leapMs" in change) await this.jump(change.leapMs);
    else if ("outageMs" in change) {
      await this.stop();
      await this.jump(change.outageMs);
      await this.startMissing();
    } else await pause(1_000);
  }

  /** Sends a request to a webhook that is not suspended; undefined if there is no response. */
  async askWebhook(path: string, review: object): Promise<unknown> {
    const webhook = [...this.instances].find(
      ({ name, isPaused }) => name === "webhook" && !isPaused,
    );
    return webhook?.ask(path, review);
  }

  /** Presents a key to a gateway that is not suspended; undefined if there is no answer. */
  async askGateway(key: string): Promise<GatewayAnswer | undefined> {
    const gateway = [...this.instances].find(
      ({ name, isPaused }) => name === "gateway" && !isPaused,
    );
    return gateway?.present(key);
  }

  async #replace(instance: InProcessInstance): Promise<void> {
    if (!this.instances.has(instance)) return;
    this.kill(instance);
    await this.startMissing();
  }

  async #calm(deadline: number): Promise<void> {
    const { cluster, logbook } = this.#context;
    const began = performance.now();
    await cluster.arrange({
      method: "GET",
      path: "/api/v1/namespaces?fieldSelector=metadata.name%3Dnobody",
    });
    // On a busy machine, events of the API server take as long as its responses.
    const latencyMs = performance.now() - began;
    this.#calmMs = Math.min(Math.max(times.calm, 4 * latencyMs), times.longestCalm);
    await this.#still(deadline);
    for (let touched = logbook.takeTouched(); touched.length > 0; touched = logbook.takeTouched()) {
      // The API server responds from its watch cache once that has caught up: its events are then
      // on their way.
      await Promise.all(
        touched.map((path) =>
          cluster.arrange({
            method: "GET",
            path: `${path}?fieldSelector=metadata.name%3Dnobody`,
          }),
        ),
      );
      await this.#still(deadline);
    }
  }

  // Looks several times: a process that was not scheduled for a while handles its sockets only
  // after its timers.
  #still(deadline: number): Promise<void> {
    let waitingSince = performance.now();
    return untilStill({
      isQuiet: () => this.#isCalm(),
      looks: times.looks,
      everyMs: 3,
      within: deadline - performance.now(),
      failure: () => this.#neverSettles(),
      onBusy: async () => {
        const isAsked = [...this.instances].some(
          ({ isPaused, proxy }) => !isPaused && proxy.inFlight > 0,
        );
        if (performance.now() - waitingSince < (isAsked ? times.stuck : 4 * this.#calmMs)) return;
        await this.jump();
        waitingSince = performance.now();
      },
    });
  }

  #neverSettles(): string {
    const states = [...this.instances].map((instance) => instance.state());
    return neverSettles(this.#context.logbook, [
      ...states,
      `${this.pendingEvents} delayed events, ${Math.round(performance.now() - this.#movedAt)} ms without traffic`,
    ]);
  }

  #isCalm(): boolean {
    const running = [...this.instances].filter(({ isPaused }) => !isPaused);
    const isIdle =
      running.length > 0 &&
      running.every((instance) => instance.isIdle() && instance.proxy.swallowed === 0);
    return isIdle && this.pendingEvents === 0 && performance.now() - this.#movedAt >= this.#calmMs;
  }
}
