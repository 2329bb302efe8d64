import { aborted, sleep, type Timers } from "../runtime/clock.ts";
import type { ConnectedUpstream } from "./connected-clusters.ts";
import type { ClusterReading, ClusterReadings } from "./gateway-metrics.ts";

/** Dependencies of {@link ClusterProbes}. */
interface ClusterProbesDeps {
  readonly clusters: {
    names(): readonly string[];
    find(name: string): Pick<ConnectedUpstream, "isReachable" | "isThrottled"> | undefined;
    reportThrottled(name: string): void;
    readonly synced: Promise<void>;
  };
  readonly clock: Timers;
}

const everyMs = 30_000;
/** A cluster that does not answer takes 10 s. */
const probesAtATime = 16;
/** Maximum number of clusters that metrics name. */
const mostNamed = 100;

/** Asks every connected cluster each half minute whether it is reachable, before a user does. */
export class ClusterProbes {
  readonly #deps: ClusterProbesDeps;
  #answers: ReadonlyMap<string, ClusterReading> = new Map();

  constructor(deps: ClusterProbesDeps) {
    this.#deps = deps;
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clusters, clock } = this.#deps;
    await Promise.race([clusters.synced, aborted(signal)]);
    while (!signal.aborted) {
      await this.#ask();
      await sleep(everyMs, { clock, signal });
    }
  }

  /** The state of the clusters by the last answers, unreachable and throttled ones first. */
  readings(): Omit<ClusterReadings, "expiring"> {
    const all = [...this.#answers].toSorted(
      ([one, answer], [other, otherAnswer]) =>
        rankOf(answer) - rankOf(otherAnswer) || (one < other ? -1 : 1),
    );
    const reachable = all.filter(([, { isReachable }]) => isReachable).length;
    return {
      counts: { reachable, unreachable: all.length - reachable },
      named: all.slice(0, mostNamed),
    };
  }

  async #ask(): Promise<void> {
    const { clusters } = this.#deps;
    const answers = new Map<string, ClusterReading>();
    const names = clusters.names().values();
    const askInTurn = async (): Promise<void> => {
      for (const name of names) {
        const upstream = clusters.find(name);
        const isReachable = (await upstream?.isReachable()) ?? false;
        const isThrottled = upstream?.isThrottled ?? false;
        if (isThrottled) clusters.reportThrottled(name);
        answers.set(name, { isReachable, isThrottled });
      }
    };
    await Promise.all(Array.from({ length: probesAtATime }, askInTurn));
    this.#answers = answers;
  }
}

function rankOf({ isReachable, isThrottled }: ClusterReading): number {
  return Number(isReachable) + Number(isReachable && !isThrottled);
}
