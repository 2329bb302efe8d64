import type { ScopeLimit } from "../api/scope.ts";
import type { RequestLocation } from "../domain/scope/scoped-request.ts";
import type { Leaving } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";

/** Where requests to a cluster that is not the central one are. */
export interface RequestLocations {
  /** The location of a request in a namespace; an empty string means no namespace. */
  locationOf(namespace: string): RequestLocation;
  /**
   * Waits for what the scopes need to know about the namespaces. Rejects with the reason of `left`
   * as soon as it aborts.
   */
  decided(scopes: readonly ScopeLimit[], left?: Leaving): Promise<void>;
  /** The reason of a denial by these scopes, with what is not known about the namespaces. */
  denialOf(reason: string, scopes: readonly ScopeLimit[]): string;
  /** Whether labels of namespaces count; undefined if none was needed. */
  readonly areTrusted: boolean | undefined;
  /** Why no label counts, one sentence; empty if labels do, or if none was needed. */
  warnings(): readonly string[];
  close(): Promise<void>;
}

/** Those of a cluster in which every request is at the same place. */
export function oneLocation(location: RequestLocation): RequestLocations {
  return {
    locationOf: () => location,
    decided: async () => {},
    denialOf: (reason) => reason,
    areTrusted: undefined,
    warnings: () => [],
    close: async () => {},
  };
}

/** Maximum number of clusters that the metric names. */
const mostNamed = 100;

/** Shows in which clusters labels of namespaces count, those where they do not first. */
export function exposeLabelTrust(
  read: () => readonly (readonly [cluster: string, areTrusted: boolean])[],
  metrics: Metrics,
): void {
  const name = "latchkey_cluster_labels_trusted";
  metrics.onScrape("cluster labels", () => {
    metrics.reset(name);
    const all = read().toSorted(([, one], [, other]) => Number(one) - Number(other));
    for (const [cluster, areTrusted] of all.slice(0, mostNamed))
      metrics.gauge(name, { cluster }).set(areTrusted ? 1 : 0);
  });
}
