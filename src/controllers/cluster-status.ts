import { type ClusterSummary, haveSameCounts } from "../domain/outbox/cluster-sync.ts";
import { clusterOfOutbox } from "../domain/outbox/outbox-names.ts";
import { isSame } from "../domain/plan/merge-patch.ts";
import type { Source } from "../domain/sync/copy.ts";
import { observeClusters } from "./observe-outbox.ts";
import { indexes, type Stores } from "./stores.ts";
import type { World } from "./world.ts";

/** What a status says of connected clusters. */
interface ReportedSummary {
  readonly clusters?: ClusterSummary;
  /** When it may say what it does not say yet, in milliseconds since the epoch. */
  readonly changesAt?: number;
}

/** Least time between two changes of what a status says of the clusters of an unchanged source. */
const paceMs = 10_000;

/**
 * What the status of a source says of its clusters: what they have, at most once in 10 s, because a
 * fan-out in many clusters reports its progress many times.
 */
export function reportedClusters(source: Source, world: World): ReportedSummary {
  const { clock, memory } = world;
  const { reported } = memory.agents;
  const { uid, generation } = source.secret.metadata;
  const clusters = observeClusters(source, world);
  if (clusters === undefined) {
    reported.delete(uid);
    return {};
  }
  const last = reported.get(uid);
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  const isUnchanged =
    last !== undefined &&
    last.generation === generation &&
    isSame(last.options, source.options) &&
    (haveSameCounts(last.summary, clusters) || monotonic < last.since + paceMs);
  if (!isUnchanged) {
    reported.set(uid, { summary: clusters, generation, options: source.options, since: monotonic });
    return { clusters };
  }
  return haveSameCounts(last.summary, clusters)
    ? { clusters: last.summary }
    : { clusters: last.summary, changesAt: now + last.since + paceMs - monotonic };
}

/** The clusters whose outbox has a Secret with the uid of a source. */
export function holdingClusters(uid: string, { outboxes }: Stores): readonly string[] {
  const clusters = outboxes
    .by(indexes.uid, uid)
    .map(({ metadata }) => clusterOfOutbox(metadata.namespace ?? ""));
  return clusters.filter((cluster) => cluster !== undefined);
}
