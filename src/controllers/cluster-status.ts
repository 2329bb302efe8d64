import { type ClusterSummary, statedClusters } from "../domain/outbox/cluster-sync.ts";
import type { Source } from "../domain/sync/copy.ts";
import { observeClusters } from "./observe-outbox.ts";
import type { World } from "./world.ts";

/** What a status says of connected clusters. */
interface ReportedSummary {
  readonly clusters?: ClusterSummary;
  /** When it may say what it does not say yet, in milliseconds since the epoch. */
  readonly changesAt?: number;
}

/** What the status of a source says of its clusters. */
export function reportedClusters(source: Source, world: World): ReportedSummary {
  const { clock, memory } = world;
  const { stated: known } = memory.agents;
  const { uid } = source.secret.metadata;
  const clusters = observeClusters(source, world);
  if (clusters === undefined) {
    known.delete(uid);
    return {};
  }
  const now = clock.monotonic();
  const { stated, changesAt } = statedClusters(source, clusters, { last: known.get(uid), now });
  known.set(uid, stated);
  const { summary } = stated;
  return changesAt === undefined
    ? { clusters: summary }
    : { clusters: summary, changesAt: clock.now() + changesAt - now };
}
