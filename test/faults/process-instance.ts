import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stringAt } from "../../src/api/parse.ts";
import { testCertificates } from "../support/gateway-fixture.ts";
import { writePrivately } from "../support/kubeconfig.ts";
import { type LatchkeyProcess, startController } from "../support/latchkey-process.ts";
import { readVitals, type Vitals } from "../support/controller-vitals.ts";
import type { Exit } from "../support/tied-child.ts";
import { type BackendContext, type Instance, isMistake } from "./backend.ts";
import { FaultProxy } from "../support/fault-proxy.ts";
import type { View } from "../support/visible-objects.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** Seconds of leader election, as in the options of `latchkey controller`. */
export interface LeaseSeconds {
  readonly duration: number;
  readonly deadline: number;
  readonly retry: number;
}

/** The options of a process. */
export interface ProcessInstanceOptions {
  readonly cluster: ProxiedCluster;
  readonly view: View;
  /** The path of Latchkey's bundle. */
  readonly program: string;
  /** Its identity in the Lease, the same across restarts. */
  readonly identity: string;
  readonly lease: LeaseSeconds;
  readonly traffic: BackendContext<ProcessInstance>["traffic"];
  /** Whether it is restarted whenever it exits, like a pod's container. */
  readonly restarts: boolean;
}

/**
 * The time from an exit to the next start, so that a process that fails at its start does not keep
 * the machine busy.
 */
const restartMs = 50;

/**
 * A directory with certificates of the issuer. Without it, every replica writes their Secret,
 * leading or not.
 */
async function certificateDirectory({ controlPlane }: ProxiedCluster): Promise<string> {
  const directory = mkdtempSync(join(controlPlane.directory, "certificates-"));
  const { ca, tls } = await testCertificates();
  const files = { "ca.crt": ca, "tls.crt": tls.certificate, "tls.key": tls.privateKey };
  for (const [name, text] of Object.entries(files)) writePrivately(join(directory, name), text);
  return directory;
}

/** A real `latchkey controller` process with its own proxy. */
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
      // Only its own kubeconfig uses the proxy.
      controlPlane: { ...cluster.controlPlane, url: proxy.url },
      program,
      identity,
      restart: "never",
      args: [
        `--lease-duration=${lease.duration}s`,
        `--renew-deadline=${lease.deadline}s`,
        `--retry-period=${lease.retry}s`,
      ],
      env: {
        LATCHKEY_NAMESPACE: view.system,
        LATCHKEY_CERTIFICATE_DIRECTORY: await certificateDirectory(cluster),
      },
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

  /** Identifies the current process: different after each restart. */
  get process(): string {
    return `${this.identity}${this.#controller?.starts ?? 1}`;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Sends SIGKILL; resolves when the process has exited. */
  async kill(): Promise<void> {
    const dead = this.controller.exited();
    this.controller.kill("SIGKILL");
    await dead;
  }

  /** Sends SIGSTOP: the process is suspended. */
  pause(): void {
    this.#isPaused = true;
    this.controller.kill("SIGSTOP");
  }

  /** Sends SIGCONT. */
  resume(): void {
    this.#isPaused = false;
    this.controller.kill("SIGCONT");
  }

  /** Stops it for the duration of an outage. */
  async down(): Promise<void> {
    this.#isWanted = false;
    await this.kill();
  }

  /** Ends an outage. */
  up(): void {
    this.#isWanted = true;
    this.revive();
  }

  /** Starts it again if it has exited. */
  revive(): void {
    if (this.#isAlive) return;
    this.#isAlive = true;
    this.controller.start();
  }

  /** Undefined while it does not respond. */
  async vitals(): Promise<Vitals | undefined> {
    try {
      // A process that is suspended during this request would not respond before it is resumed.
      return await readVitals(this.controller.url, AbortSignal.timeout(2_000));
    } catch {
      return undefined;
    }
  }

  /** Lines of its log that report unexpected errors of Latchkey; a lost Lease may be intended. */
  mistakes(): readonly string[] {
    const lines = readFileSync(this.controller.log, "utf8")
      .split("\n")
      .filter((line) => line !== "");
    return lines
      .filter((line) => !line.startsWith("{") || isMistakeLine(JSON.parse(line)))
      .map((line) => `${this.identity}: ${line}`);
  }

  /** Stops it permanently, and its proxy. */
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
