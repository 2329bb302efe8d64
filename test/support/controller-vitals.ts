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
  return vitalsIn(await response.text());
}

/** The work of a controller in Prometheus' text format. */
export function vitalsIn(metrics: string): Vitals {
  return {
    isLeading: sumOf(metrics, "leader_election_master_status") === 1,
    waiting: sumOf(metrics, "workqueue_depth"),
    reconciles: sumOf(metrics, "controller_runtime_reconcile_total"),
  };
}

/** The sum of a metric in Prometheus' text format over all labels. */
export function sumOf(metrics: string, name: string): number {
  return valuesOf(metrics, name).reduce((total, value) => total + value, 0);
}

/** The values of a metric in Prometheus' text format, with any labels. */
export function valuesOf(metrics: string, name: string): readonly number[] {
  const lines = metrics
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.map((line) => Number(line.slice(line.lastIndexOf(" ") + 1)));
}
