import { KubeError, isKubeError } from "../../kube/client/kube-error.ts";
import { CredentialsError } from "../../kube/credentials/credentials.ts";
import type { PassiveClock } from "../../runtime/clock.ts";
import type { Cluster } from "../connection/cluster.ts";
import { sentenceOf } from "../failure.ts";
import type { StatusReport } from "./status-report.ts";
import { type ReadPolicies, readStatus, type StatusSelection } from "./status-read.ts";

/** The last report that was read, and what is wrong since. */
export interface StatusView {
  readonly report: StatusReport | undefined;
  /** When the report was read, in milliseconds since the epoch. */
  readonly readAt: number | undefined;
  /** Why a newer report cannot be read. */
  readonly problem: string | undefined;
}

/** Dependencies of {@link StatusSource}. */
interface StatusSourceDeps {
  /** The connection of the command, if it has one. */
  readonly cluster?: Cluster;
  readonly connect: () => Promise<Cluster>;
  readonly clock: PassiveClock;
  readonly policies: ReadPolicies;
}

/** Reads reports again and again over one connection, also after the API server was away. */
export class StatusSource {
  readonly #selection: StatusSelection;
  readonly #deps: StatusSourceDeps;
  #cluster: Cluster | undefined;
  #view: StatusView = { report: undefined, readAt: undefined, problem: undefined };
  #tookMs = 0;

  constructor(selection: StatusSelection, deps: StatusSourceDeps) {
    [this.#selection, this.#deps, this.#cluster] = [selection, deps, deps.cluster];
  }

  /** Milliseconds that the last reading took, successful or not. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /** Reads a report; rejects if that fails, as the first reading of a command should. */
  async first(): Promise<StatusView> {
    const { clock, connect, policies } = this.#deps;
    const begin = clock.monotonic();
    try {
      this.#cluster ??= await connect();
      const deps = { cluster: this.#cluster, clock, policies };
      const report = await readStatus(this.#selection, deps);
      this.#view = { report, readAt: clock.now(), problem: undefined };
      return this.#view;
    } finally {
      this.#tookMs = clock.monotonic() - begin;
    }
  }

  /** Reads a report; where that fails, returns the last one and the problem. */
  async next(): Promise<StatusView> {
    try {
      return await this.first();
    } catch (error) {
      if (!(error instanceof KubeError) && !(error instanceof CredentialsError)) throw error;
      // A token may have expired, or have been replaced in its file: read the kubeconfig again.
      if (isKubeError(error, "Unauthorized")) this.#cluster = undefined;
      this.#view = { ...this.#view, problem: sentenceOf(error) };
      return this.#view;
    }
  }
}

/**
 * The pause before the next reading: the interval, and at least four times the last reading, so
 * that a large cluster has little work with it. In milliseconds.
 */
export function pauseAfter(tookMs: number, intervalMs: number): number {
  return Math.max(intervalMs, 4 * tookMs);
}
