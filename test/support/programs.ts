import { join } from "node:path";
import { describeExit, logTail, startTiedChild, type TiedChild } from "./tied-child.ts";

/** What happens when the parent or a program of a control plane exits. */
export interface ProgramsOptions {
  /** A directory that is removed when this process is killed. */
  removeWithParent?: string;
  /** Variables of the programs, in addition to those of this process. */
  env?: Readonly<Record<string, string>>;
  /** Called with a description if a program exits unexpectedly. */
  onDeath?: (what: string) => void;
}

/** The programs of one control plane, each with a log. */
export class Programs {
  /** The directory of the logs. */
  readonly logs: string;
  readonly #options: ProgramsOptions;
  readonly #children = new Map<string, TiedChild>();
  readonly #deaths: Promise<never>[] = [];
  /** Programs that are being stopped or restarted. */
  readonly #leaving = new Set<string>();

  constructor(logs: string, options: ProgramsOptions) {
    this.logs = logs;
    this.#options = options;
  }

  /** Starts a program; its log is `<name>.log`. */
  run(name: string, program: string, flags: readonly string[]): void {
    const log = join(this.logs, `${name}.log`);
    const { removeWithParent, env } = this.#options;
    const child = startTiedChild([program, ...flags], {
      log,
      ...(removeWithParent && { removeWithParent }),
      ...(env && { env: { ...process.env, ...env } }),
    });
    this.#children.set(name, child);
    const death = child.exited.then((exit): Promise<never> => {
      const what = `${name} died: ${describeExit(exit)}; the log is ${log}`;
      if (this.#leaving.delete(name)) return new Promise<never>(() => {});
      this.#options.onDeath?.(what);
      throw new Error(`${what}\n${logTail(log)}`);
    });
    death.catch(() => {});
    this.#deaths.push(death);
  }

  /** Stops a program and starts it again with other flags. */
  async restart(name: string, program: string, flags: readonly string[]): Promise<void> {
    await this.#stop(name, 2_000);
    this.run(name, program, flags);
  }

  /** Kills a program as a power failure does; `run` starts it again. */
  async kill(name: string): Promise<void> {
    this.#leaving.add(name);
    const child = this.#children.get(name);
    child?.kill("SIGKILL");
    await child?.exited;
  }

  /** The pid of a program; undefined if it was not started. */
  pidOf(name: string): number | undefined {
    return this.#children.get(name)?.pid;
  }

  /** Sends a signal to a running program, such as SIGSTOP. */
  signal(name: string, signal: NodeJS.Signals): void {
    this.#children.get(name)?.kill(signal);
  }

  /**
   * Waits for work that cannot succeed after one of the programs has exited; in that case, throws
   * the end of its log.
   */
  async whileAlive<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {});
    return Promise.race([work, ...this.#deaths]);
  }

  /**
   * An API server without etcd hangs in its shutdown, so etcd is stopped last; one with open
   * watches waits for their clients, so the controller manager is stopped with it, and other
   * clients get two seconds.
   */
  async stop(): Promise<void> {
    for (const name of this.#children.keys()) this.#leaving.add(name);
    await Promise.all(
      [...this.#children.keys()]
        .filter((name) => name !== "etcd")
        .map((name) => this.#stop(name, 2_000)),
    );
    await this.#stop("etcd");
  }

  async #stop(name: string, graceMs?: number): Promise<void> {
    this.#leaving.add(name);
    await this.#children.get(name)?.stop(graceMs);
  }
}
