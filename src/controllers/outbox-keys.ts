import { type Key, keyOf, type ObjectRef, refOf } from "../api/object.ts";
import { namedClusters } from "../domain/outbox/cluster-sync.ts";
import { outboxName, outboxNamespace } from "../domain/outbox/outbox-names.ts";
import { type ObservedOutboxSecret, sourceOfOutbox } from "../domain/outbox/outbox-secret.ts";
import type { UnknownSource } from "../domain/outbox/cluster-report.ts";
import { isSame } from "../domain/plan/merge-patch.ts";
import type { Source } from "../domain/sync/copy.ts";
import type { Change } from "../kube/informer/store.ts";
import type { CentralEnqueuer } from "./central-enqueuer.ts";
import { indexes, type Stores } from "./stores.ts";

/** The key of a Secret in the outbox of a cluster; `name` as `outboxName` returns it. */
export function outboxKey(cluster: string, name: string): Key {
  return keyOf({ namespace: outboxNamespace(cluster), name });
}

/** The key in the queue of outboxes of the agent of a cluster: the namespace of its outbox. */
export function agentKey(cluster: string): Key {
  return outboxNamespace(cluster);
}

/**
 * The SharedSecret whose Secret in an outbox has this name. One that names no cluster is found by
 * what the outbox, or a report, says about it.
 */
export function sourceAt(
  { name }: ObjectRef,
  {
    existing,
    unknown,
  }: {
    readonly existing: ObservedOutboxSecret | undefined;
    readonly unknown: UnknownSource | undefined;
  },
  { sharedSecrets }: Stores,
): Source | undefined {
  const [naming] = sharedSecrets.by(indexes.outboxName, name);
  if (naming !== undefined) return naming;
  const ref = existing === undefined ? unknown?.source : sourceOfOutbox(existing.metadata);
  return ref !== undefined && outboxName(ref) === name ? sharedSecrets.get(keyOf(ref)) : undefined;
}

/** The SharedSecrets that a Secret of an outbox is about, now or until now. */
export function sourcesAt(
  target: ObjectRef,
  states: readonly (ObservedOutboxSecret | undefined)[],
  stores: Stores,
): readonly Source[] {
  const sources = [undefined, ...states].map((existing) =>
    sourceAt(target, { existing, unknown: undefined }, stores),
  );
  return [...new Set(sources)].filter((source) => source !== undefined);
}

/** The indexes of SharedSecrets that outboxes need: only those that name clusters are in them. */
export const outboxSourceIndexers = {
  [indexes.clusterName]: ({ options }: Source) => [...new Set(options.clusters)],
  [indexes.outboxName]: ({ secret, options }: Source) =>
    options.clusters.length > 0 ? [outboxName(secret.metadata)] : [],
} as const;

/** Enqueues the Secrets that outboxes have, or should have, of a SharedSecret. */
export function enqueueOutboxes(
  { before, after }: Change<Source>,
  { queues, stores }: CentralEnqueuer,
): void {
  if (!concernsOutboxes(before, after)) return;
  const states = [before, after].filter((state) => state !== undefined);
  for (const key of outboxKeysOf(states, stores)) queues.outbox.add(key, "normal");
}

/** Enqueues the Secrets that outboxes should have of every SharedSecret, for a new leader. */
export function enqueueOffered(source: Source, { queues, stores }: CentralEnqueuer): void {
  if (source.options.clusters.length === 0) return;
  for (const key of outboxKeysOf([source], stores)) queues.outbox.add(key, "low");
}

function outboxKeysOf(states: readonly Source[], stores: Stores): Iterable<Key> {
  const { clusters, clusterReports, outboxes } = stores;
  const [first] = states;
  if (first === undefined) return [];
  const name = outboxName(first.secret.metadata);
  const named = states.flatMap((source) =>
    namedClusters(source, clusters.namesIn(indexes.clusterName)),
  );
  return new Set([
    ...named.map((cluster) => outboxKey(cluster, name)),
    ...outboxes.keysBy(indexes.outboxName, name),
    // An invalid source may name no cluster, and still concern one that has copies of it.
    ...clusterReports.keysBy(indexes.outboxName, name).map((key) => keyOf({ ...refOf(key), name })),
  ]);
}

/** Whether a change of a SharedSecret affects what outboxes say; one of its status does not. */
function concernsOutboxes(before: Source | undefined, after: Source | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  const [one, other] = [before, after].map(({ secret: { metadata }, ownDigest }) => ({
    uid: metadata.uid,
    generation: metadata.generation,
    deletionTimestamp: metadata.deletionTimestamp,
    annotations: metadata.annotations,
    ownDigest,
  }));
  return !isSame(one, other);
}

/** Enqueues the outbox of a cluster, and the status of the SharedSecrets that name it. */
export function enqueueCluster(cluster: string, enqueuer: CentralEnqueuer): void {
  const { queues, stores } = enqueuer;
  for (const source of sourcesNaming(cluster, stores))
    queues.outbox.add(outboxKey(cluster, outboxName(source.secret.metadata)), "low");
  const namespace = outboxNamespace(cluster);
  for (const key of stores.outboxes.keysBy(indexes.namespace, namespace))
    queues.outbox.add(key, "low");
  enqueueNaming(cluster, enqueuer);
}

/** Enqueues the status of the SharedSecrets that name a cluster. */
export function enqueueNaming(cluster: string, enqueuer: CentralEnqueuer): void {
  for (const source of sourcesNaming(cluster, enqueuer.stores)) enqueuer.status(source);
}

function sourcesNaming(cluster: string, { sharedSecrets }: Stores): readonly Source[] {
  return [cluster, "*"].flatMap((name) => sharedSecrets.by(indexes.clusterName, name));
}
