import { readFileSync } from "node:fs";
import { stringAt } from "../../src/api/parse.ts";
import { type LatchkeyProcess, startController } from "../support/latchkey-process.ts";
import { readVitals, type Vitals } from "../support/controller-vitals.ts";
import type { Exit } from "../support/tied-child.ts";
import { type BackendContext, type Instance, isMistake } from "./backend.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import type { View } from "../support/visible-objects.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** Seconds of leader election, as the options of `latchkey controller` have them. */
export interface LeaseSeconds {
  readonly duration: number;
  readonly deadline: number;
  readonly retry: number;
}

/** How a process is started. */
export interface ProcessInstanceOptions {
  readonly cluster: ProxiedCluster;
  readonly view: View;
  /** The bundle of Latchkey. */
  readonly program: string;
  /** Names it in the Lease, the same over its restarts. */
  readonly identity: string;
  readonly lease: LeaseSeconds;
  readonly traffic: BackendContext<ProcessInstance>["traffic"];
  /** Whether it is started again whenever it dies, as a pod's container is. */
  readonly restarts: boolean;
}

/** From a death to the next start: a process that cannot live shall not keep the machine busy. */
const restartMs = 50;

/** A real `latchkey controller` process behind a proxy of its own. */
export class ProcessInstance implements Instance {
  readonly identity: string;
  readonly exits: Exit[] = [];
  #proxy: FaultProxy | undefined;
  #controller: LatchkeyProcess | undefined;
  #isWanted: boolean;
  #isPaused = false;
  #isAlive = true;

  private constructor({ identity, restarts }: ProcessInstanceOptions) {
    this.identity = identity;
    this.#isWanted = restarts;
  }

  static async start(options: ProcessInstanceOptions): Promise<ProcessInstance> {
    const { cluster, view, program, identity, lease, traffic } = options;
    const instance = new ProcessInstance(options);
    const proxy = await FaultProxy.start({
      upstream: cluster.upstream,
      view,
      ...traffic(() => instance),
    });
    instance.#proxy = proxy;
    instance.#controller = await startController({
      // Only its own kubeconfig leads through the proxy.
      controlPlane: { ...cluster.controlPlane, url: proxy.url },
      program,
      identity,
      restart: "never",
      args: [
        `--lease-duration=${lease.duration}s`,
        `--renew-deadline=${lease.deadline}s`,
        `--retry-period=${lease.retry}s`,
      ],
      env: { LATCHKEY_NAMESPACE: view.system },
      onDeath: (exit) => instance.#onDeath(exit),
    });
    return instance;
  }

  get proxy(): FaultProxy {
    if (this.#proxy === undefined) throw new Error(`${this.identity} was never started`);
    return this.#proxy;
  }

  get controller(): LatchkeyProcess {
    if (this.#controller === undefined) throw new Error(`${this.identity} was never started`);
    return this.#controller;
  }

  /** Names the process of now: another one after each restart. */
  get process(): string {
    return `${this.identity}${this.#controller?.starts ?? 1}`;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** SIGKILL; resolves when the process is dead. */
  async kill(): Promise<void> {
    const dead = this.controller.exited();
    this.controller.kill("SIGKILL");
    await dead;
  }

  /** SIGSTOP: the process gets no turn any more. */
  pause(): void {
    this.#isPaused = true;
    this.controller.kill("SIGSTOP");
  }

  /** SIGCONT. */
  resume(): void {
    this.#isPaused = false;
    this.controller.kill("SIGCONT");
  }

  /** Ends it for as long as an outage lasts. */
  async down(): Promise<void> {
    this.#isWanted = false;
    await this.kill();
  }

  /** Ends an outage. */
  up(): void {
    this.#isWanted = true;
    this.revive();
  }

  /** Starts it again if it is dead. */
  revive(): void {
    if (this.#isAlive) return;
    this.#isAlive = true;
    this.controller.start();
  }

  /** Undefined while it does not answer. */
  async vitals(): Promise<Vitals | undefined> {
    try {
      // A process that is stopped while it is asked would not answer before it goes on.
      return await readVitals(this.controller.url, AbortSignal.timeout(2_000));
    } catch {
      return undefined;
    }
  }

  /** Lines of its log that stand for a mistake of Latchkey's own; a lost Lease may be meant. */
  mistakes(): readonly string[] {
    const lines = readFileSync(this.controller.log, "utf8")
      .split("\n")
      .filter((line) => line !== "");
    return lines
      .filter((line) => !line.startsWith("{") || isMistakeLine(JSON.parse(line)))
      .map((line) => `${this.identity}: ${line}`);
  }

  /** Stops it for good, and its proxy. */
  async end(): Promise<void> {
    this.#isWanted = false;
    this.proxy.release();
    this.resume();
    await this.controller.stop();
    this.proxy.kill();
  }

  #onDeath(exit: Exit): void {
    this.#isAlive = false;
    this.exits.push(exit);
    setTimeout(() => this.#isWanted && this.revive(), restartMs);
  }
}

function isMistakeLine(line: unknown): boolean {
  return isMistake(stringAt(line, "level"), stringAt(line, "message"));
}
