import { readFileSync } from "node:fs";
import { stringAt } from "../../src/api/parse.ts";
import { type LatchkeyProcess, startController } from "../support/latchkey-process.ts";
import { valuesOf } from "../support/dedicated-cluster.ts";
import type { Exit } from "../support/tied-child.ts";
import type { Logbook } from "./logbook.ts";
import { FaultProxy, type Steering } from "../support/fault-proxy.ts";
import type { View } from "../support/visible-objects.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** Seconds of leader election, as the options of `latchkey controller` have them. */
export interface LeaseSeconds {
  readonly duration: number;
  readonly deadline: number;
  readonly retry: number;
}

/** How a replica is started. */
export interface ReplicaOptions {
  readonly cluster: ProxiedCluster;
  readonly view: View;
  /** The bundle of Latchkey. */
  readonly program: string;
  /** Names it in the Lease, the same over its restarts. */
  readonly name: string;
  readonly logbook: Logbook;
  readonly lease: LeaseSeconds;
  readonly steering?: (replica: Replica) => Steering;
  /** Whether it is started again whenever it dies, as a pod's container is. */
  readonly restarts: boolean;
}

/** From a death to the next start: a process that cannot live shall not keep the machine busy. */
const restartMs = 50;

/** What the process says of itself on /metrics. */
export interface Vitals {
  readonly isLeading: boolean;
  readonly waiting: number;
  readonly passes: number;
}

/** A real `latchkey controller` process behind a proxy of its own. */
export class Replica {
  readonly name: string;
  readonly exits: Exit[] = [];
  #proxy: FaultProxy | undefined;
  #controller: LatchkeyProcess | undefined;
  #isWanted: boolean;
  #isStanding = false;
  #isAlive = true;

  private constructor({ name, restarts }: ReplicaOptions) {
    this.name = name;
    this.#isWanted = restarts;
  }

  static async start(options: ReplicaOptions): Promise<Replica> {
    const { cluster, view, program, name, lease, logbook, steering } = options;
    const replica = new Replica(options);
    const events = logbook.eventsOf(() => replica.process);
    const proxy = await FaultProxy.start({
      upstream: cluster.upstream,
      view,
      steering: steering?.(replica) ?? {},
      events,
    });
    replica.#proxy = proxy;
    replica.#controller = await startController({
      // Only its own kubeconfig leads through the proxy.
      controlPlane: { ...cluster.controlPlane, url: proxy.url },
      program,
      identity: name,
      restart: "never",
      args: [
        `--lease-duration=${lease.duration}s`,
        `--renew-deadline=${lease.deadline}s`,
        `--retry-period=${lease.retry}s`,
      ],
      env: { LATCHKEY_NAMESPACE: view.system },
      onDeath: (exit) => replica.#onDeath(exit),
    });
    return replica;
  }

  get proxy(): FaultProxy {
    if (this.#proxy === undefined) throw new Error(`${this.name} was never started`);
    return this.#proxy;
  }

  get controller(): LatchkeyProcess {
    if (this.#controller === undefined) throw new Error(`${this.name} was never started`);
    return this.#controller;
  }

  /** Names the process of now: another one after each restart. */
  get process(): string {
    return `${this.name}${this.#controller?.starts ?? 1}`;
  }

  get isStanding(): boolean {
    return this.#isStanding;
  }

  /** SIGKILL; resolves when the process is dead. */
  async kill(): Promise<void> {
    const dead = this.controller.exited();
    this.controller.kill("SIGKILL");
    await dead;
  }

  /** SIGSTOP: the process gets no turn any more. */
  stand(): void {
    this.#isStanding = true;
    this.controller.kill("SIGSTOP");
  }

  /** SIGCONT. */
  goOn(): void {
    this.#isStanding = false;
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

  /** Undefined while nobody answers. */
  async vitals(): Promise<Vitals | undefined> {
    try {
      // A process that is stopped while it is asked would not answer before it goes on.
      const metrics = await (
        await fetch(`${this.controller.url}/metrics`, { signal: AbortSignal.timeout(2_000) })
      ).text();
      const sum = (metric: string) =>
        valuesOf(metrics, metric).reduce((total, value) => total + value, 0);
      const isLeading = sum("leader_election_master_status") === 1;
      return {
        isLeading,
        waiting: sum("workqueue_depth"),
        passes: sum("controller_runtime_reconcile_total"),
      };
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
      .filter((line) => !line.startsWith("{") || isMistake(JSON.parse(line)))
      .map((line) => `${this.name}: ${line}`);
  }

  /** Stops it for good, and its proxy. */
  async end(): Promise<void> {
    this.#isWanted = false;
    this.proxy.release();
    this.goOn();
    await this.controller.stop();
    this.proxy.kill();
  }

  #onDeath(exit: Exit): void {
    this.#isAlive = false;
    this.exits.push(exit);
    setTimeout(() => this.#isWanted && this.revive(), restartMs);
  }
}

function isMistake(line: unknown): boolean {
  return stringAt(line, "level") === "error" && stringAt(line, "message") !== "Lease lost";
}
