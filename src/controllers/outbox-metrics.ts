import { ownObjects } from "../api/names.ts";
import { keyOf } from "../api/object.ts";
import { outboxNamespace } from "../domain/outbox/outbox-names.ts";
import type { PassiveClock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { type Heartbeat, heartbeatIn } from "./heartbeat.ts";
import { indexes, type Stores } from "./stores.ts";

/** Maximum number of clusters that metrics name. */
const mostNamed = 100;

type Heartbeats = ReadonlyMap<string, Heartbeat>;

/** Shows the outboxes of connected clusters, and the heartbeats of their agents, at each scrape. */
export function exposeOutboxes(stores: Stores, clock: PassiveClock, metrics: Metrics): void {
  let [heartbeats, scrapedAt]: [Heartbeats, number] = [new Map(), 0];
  metrics.onScrape("outboxes", () => {
    for (const name of gauges) metrics.reset(name);
    const now = clock.monotonic();
    heartbeats = heartbeatsIn(stores, heartbeats, { clock, withinMs: now - scrapedAt });
    scrapedAt = now;
    const read = readings(stores, heartbeats).slice(0, mostNamed);
    for (const { cluster, secrets, withdrawals, bytes, writtenAt } of read) {
      metrics.gauge("latchkey_outbox_secrets", { cluster }).set(secrets);
      metrics.gauge("latchkey_outbox_withdrawals", { cluster }).set(withdrawals);
      metrics.gauge("latchkey_outbox_bytes", { cluster }).set(bytes);
      if (writtenAt !== undefined)
        metrics
          .gauge("latchkey_cluster_agent_heartbeat_age_seconds", { cluster })
          .set((now - writtenAt) / 1000);
    }
  });
}

const gauges = [
  "latchkey_outbox_secrets",
  "latchkey_outbox_withdrawals",
  "latchkey_outbox_bytes",
  "latchkey_cluster_agent_heartbeat_age_seconds",
] as const;

function outboxes({ clusters, namespaces }: Stores): readonly string[] {
  return [...clusters.namesIn(indexes.clusterName)].filter((cluster) =>
    namespaces.has(outboxNamespace(cluster)),
  );
}

/** The heartbeats of now; those that have changed are from the time since the last scrape. */
function heartbeatsIn(
  stores: Stores,
  former: Heartbeats,
  { clock, withinMs }: { readonly clock: PassiveClock; readonly withinMs: number },
): Heartbeats {
  const found = outboxes(stores).flatMap((cluster) => {
    const key = keyOf({ namespace: outboxNamespace(cluster), name: ownObjects.agentLease });
    const known = former.get(cluster);
    const since = { clock, withinMs: known === undefined ? Infinity : withinMs };
    const heartbeat = heartbeatIn(stores.agentLeases.get(key), known, since);
    return heartbeat === undefined ? [] : [[cluster, heartbeat] as const];
  });
  return new Map(found);
}

/** What the metrics say of each cluster with an outbox, the longest without a heartbeat first. */
function readings(stores: Stores, heartbeats: Heartbeats) {
  return outboxes(stores)
    .map((cluster) => {
      const namespace = outboxNamespace(cluster);
      return {
        cluster,
        secrets: stores.outboxes.countBy(indexes.namespace, namespace),
        withdrawals: stores.outboxes.countBy(indexes.withdrawn, namespace),
        bytes: stores.outboxes.sizeBy(indexes.namespace, namespace),
        writtenAt: heartbeats.get(cluster)?.writtenAt,
      };
    })
    .sort((one, other) => (one.writtenAt ?? -Infinity) - (other.writtenAt ?? -Infinity));
}
