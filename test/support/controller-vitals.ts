/** The work of a controller according to /metrics. */
export interface Vitals {
  readonly isLeading: boolean;
  /** Items in the queue. */
  readonly waiting: number;
  /** Finished reconciles. */
  readonly reconciles: number;
}

/** Reads /metrics of the controller at this URL. */
export async function readVitals(url: string, signal?: AbortSignal): Promise<Vitals> {
  const response = await fetch(`${url}/metrics`, signal === undefined ? {} : { signal });
  const metrics = await response.text();
  const sum = (name: string) => valuesOf(metrics, name).reduce((total, value) => total + value, 0);
  return {
    isLeading: sum("leader_election_master_status") === 1,
    waiting: sum("workqueue_depth"),
    reconciles: sum("controller_runtime_reconcile_total"),
  };
}

/** The values of a metric in Prometheus' text format, with any labels. */
export function valuesOf(metrics: string, name: string): readonly number[] {
  const lines = metrics
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.map((line) => Number(line.slice(line.lastIndexOf(" ") + 1)));
}
