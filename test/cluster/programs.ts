import { join } from "node:path";
import { describeExit, logTail, startTiedChild, type TiedChild } from "./tied-child.ts";

/** What happens to a control plane whose parent or program dies. */
export interface ProgramsOptions {
  /** A directory that goes when this process is killed. */
  removeWithParent?: string;
  /** Told in words of a program that ends before it is asked to. */
  onDeath?: (what: string) => void;
}

/** The programs of one control plane, each with its log. */
export class Programs {
  /** The directory of the logs. */
  readonly logs: string;
  readonly #options: ProgramsOptions;
  readonly #children = new Map<string, TiedChild>();
  readonly #deaths: Promise<never>[] = [];
  #stopping = false;

  constructor(logs: string, options: ProgramsOptions) {
    this.logs = logs;
    this.#options = options;
  }

  /** Starts a program; its log is `<name>.log`. */
  run(name: string, program: string, flags: readonly string[]): void {
    const log = join(this.logs, `${name}.log`);
    const { removeWithParent } = this.#options;
    const child = startTiedChild([program, ...flags], { log, ...(removeWithParent && { removeWithParent }) });
    this.#children.set(name, child);
    const death = child.exited.then((exit): never => {
      const what = `${name} died: ${describeExit(exit)}; the log is ${log}`;
      if (!this.#stopping) this.#options.onDeath?.(what);
      throw new Error(`${what}\n${logTail(log)}`);
    });
    death.catch(() => {});
    this.#deaths.push(death);
  }

  /** Waits for work that cannot succeed once one of the programs has died; throws its last words then. */
  async whileAlive<T>(work: Promise<T>): Promise<T> {
    work.catch(() => {});
    return Promise.race([work, ...this.#deaths]);
  }

  /**
   * An API server without etcd hangs in its shutdown, so etcd goes last; one with open watches waits for their clients,
   * so the controller manager goes with it, and strangers get two seconds.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    const stop = async (name: string, graceMs?: number) => this.#children.get(name)?.stop(graceMs);
    await Promise.all([stop("kube-apiserver", 2_000), stop("kube-controller-manager", 2_000)]);
    await stop("etcd");
  }
}
