import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from "prom-client";
import { metricTable } from "./metric-table.ts";

/** The instruments of a process; those with a name of controller-runtime mean what it says. */
export type Instruments = ReturnType<typeof createInstruments>;

/**
 * Sampling interval of the event loop delay in milliseconds: at 10, prom-client's default, sampling
 * takes 0.5% of a core.
 */
const eventLoopMonitoringPrecision = 20;

/** Gauges named like counters, and a size of the address space that is named like one of the heap. */
const misleading = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
  "process_heap_bytes",
];

/** controller-runtime's buckets, in seconds. */
const reconcileBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const queueBuckets = [0.001, 0.01, 0.1, 1, 10, 100, 1000];
/** Those of component-base. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const webhookBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1, 10];

/** Creates all instruments, with those of the process (CPU, memory, event loop), in `registry`. */
export function createInstruments(registry: Registry) {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  for (const name of misleading) registry.removeSingleMetric(name);
  const registers = [registry];
  const histogram = <L extends string>(
    metric: { readonly name: string; readonly help: string; readonly labelNames: readonly L[] },
    buckets: number[],
  ): Histogram<L> => new Histogram({ ...metric, registers, buckets });
  return {
    reconciles: new Counter({ ...metricTable.reconciles, registers }),
    reconcileSeconds: histogram(metricTable.reconcileSeconds, reconcileBuckets),
    reconcileErrors: new Counter({ ...metricTable.reconcileErrors, registers }),
    reconcileBugs: new Counter({ ...metricTable.reconcileBugs, registers }),
    activeWorkers: new Gauge({ ...metricTable.activeWorkers, registers }),
    maximumReconciles: new Gauge({ ...metricTable.maximumReconciles, registers }),
    queueDepth: new Gauge({ ...metricTable.queueDepth, registers }),
    queueAdds: new Counter({ ...metricTable.queueAdds, registers }),
    queueRetries: new Counter({ ...metricTable.queueRetries, registers }),
    queueSeconds: histogram(metricTable.queueSeconds, queueBuckets),
    workSeconds: histogram(metricTable.workSeconds, queueBuckets),
    unfinishedSeconds: new Gauge({ ...metricTable.unfinishedSeconds, registers }),
    longestSeconds: new Gauge({ ...metricTable.longestSeconds, registers }),
    requests: new Counter({ ...metricTable.requests, registers }),
    requestSeconds: histogram(metricTable.requestSeconds, requestBuckets),
    requestLimit: new Gauge({ ...metricTable.requestLimit, registers }),
    leading: new Gauge({ ...metricTable.leading, registers }),
    reviews: new Counter({ ...metricTable.reviews, registers }),
    webhookRequests: new Counter({ ...metricTable.webhookRequests, registers }),
    webhookSeconds: histogram(metricTable.webhookSeconds, webhookBuckets),
    webhookInFlight: new Gauge({ ...metricTable.webhookInFlight, registers }),
    certificateEnd: new Gauge({ ...metricTable.certificateEnd, registers }),
    certificateProblem: new Gauge({ ...metricTable.certificateProblem, registers }),
    objects: new Gauge({ ...metricTable.objects, registers }),
    syncTargets: new Gauge({ ...metricTable.syncTargets, registers }),
    notReady: new Gauge({ ...metricTable.notReady, registers }),
    notReadyOmitted: new Gauge({ ...metricTable.notReadyOmitted, registers }),
    expiring: new Gauge({ ...metricTable.expiring, registers }),
    revokedTokens: new Gauge({ ...metricTable.revokedTokens, registers }),
    revokedPolls: new Gauge({ ...metricTable.revokedPolls, registers }),
    watchOpened: new Gauge({ ...metricTable.watchOpened, registers }),
    watchInterruptions: new Counter({ ...metricTable.watchInterruptions, registers }),
    cacheObjects: new Gauge({ ...metricTable.cacheObjects, registers }),
    cacheFresh: new Gauge({ ...metricTable.cacheFresh, registers }),
    gatewayRequests: new Counter({ ...metricTable.gatewayRequests, registers }),
    gatewayRefusals: new Counter({ ...metricTable.gatewayRefusals, registers }),
    gatewayAuthentications: new Counter({ ...metricTable.gatewayAuthentications, registers }),
    gatewayOverhead: histogram(metricTable.gatewayOverhead, webhookBuckets),
    gatewayCuts: new Counter({ ...metricTable.gatewayCuts, registers }),
    gatewayLive: new Gauge({ ...metricTable.gatewayLive, registers }),
    clusterReachable: new Gauge({ ...metricTable.clusterReachable, registers }),
    clusters: new Gauge({ ...metricTable.clusters, registers }),
    revokedListRefusals: new Counter({ ...metricTable.revokedListRefusals, registers }),
    revokedListConfirmed: new Gauge({ ...metricTable.revokedListConfirmed, registers }),
    httpRefusals: new Counter({ ...metricTable.httpRefusals, registers }),
    buildInfo: new Gauge({ ...metricTable.buildInfo, registers }),
  };
}
