import { ownObjects } from "../api/names.ts";
import { keyOf } from "../api/object.ts";
import { outboxNamespace } from "../domain/outbox/outbox-names.ts";
import type { PassiveClock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { indexes, type Stores } from "./stores.ts";

/** Maximum number of clusters that metrics name. */
const mostNamed = 100;

/** Shows the outboxes of connected clusters, and the heartbeats of their agents, at each scrape. */
export function exposeOutboxes(stores: Stores, clock: PassiveClock, metrics: Metrics): void {
  metrics.onScrape("outboxes", () => {
    for (const name of gauges) metrics.reset(name);
    const read = readings(stores, clock).slice(0, mostNamed);
    for (const { cluster, secrets, withdrawals, bytes, ageSeconds } of read) {
      metrics.gauge("latchkey_outbox_secrets", { cluster }).set(secrets);
      metrics.gauge("latchkey_outbox_withdrawals", { cluster }).set(withdrawals);
      metrics.gauge("latchkey_outbox_bytes", { cluster }).set(bytes);
      if (ageSeconds !== undefined)
        metrics.gauge("latchkey_cluster_agent_heartbeat_age_seconds", { cluster }).set(ageSeconds);
    }
  });
}

const gauges = [
  "latchkey_outbox_secrets",
  "latchkey_outbox_withdrawals",
  "latchkey_outbox_bytes",
  "latchkey_cluster_agent_heartbeat_age_seconds",
] as const;

/** What the metrics say of each cluster with an outbox, the longest without a heartbeat first. */
function readings(stores: Stores, clock: PassiveClock) {
  const names = [...stores.clusters.namesIn(indexes.clusterName)];
  return names
    .filter((cluster) => stores.namespaces.has(outboxNamespace(cluster)))
    .map((cluster) => {
      const namespace = outboxNamespace(cluster);
      const lease = stores.agentLeases.get(keyOf({ namespace, name: ownObjects.agentLease }));
      const renewedAt = Date.parse(lease?.spec.renewTime ?? "");
      return {
        cluster,
        secrets: stores.outboxes.countBy(indexes.namespace, namespace),
        withdrawals: stores.outboxes.countBy(indexes.withdrawn, namespace),
        bytes: stores.outboxes.sizeBy(indexes.namespace, namespace),
        ageSeconds: Number.isNaN(renewedAt)
          ? undefined
          : Math.max(0, clock.now() - renewedAt) / 1000,
      };
    })
    .sort((one, other) => (other.ageSeconds ?? Infinity) - (one.ageSeconds ?? Infinity));
}
