import { keyOf, type ObjectRef, refOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { isSame } from "../../domain/plan/merge-patch.ts";
import type { Source } from "../../domain/sync/copy.ts";
import {
  candidatesFor,
  copyKeysOf,
  requestsFor,
  targetsOf,
} from "../../domain/sync/observed-target.ts";
import { syncIndexers } from "../../domain/sync/sync-objects.ts";
import type { Change } from "../../kube/informer/store.ts";
import { observedSource } from "../../tokens/observed-data.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { observeRefresh, type RefreshProgress } from "../refreshes.ts";
import type { SyncState } from "../sync-state.ts";
import { gainedOrLost, type KindContext, type WatchedKind } from "./watched-kind.ts";

/**
 * What copies are made of, with a digest of their data and without large data: SharedSecrets, or
 * the entries of an outbox.
 */
export function sourceKind({ digestOf }: KindContext): WatchedKind<Source> {
  return {
    listOptions: { resource: resources.sharedSecrets },
    parse: (raw) => observedSource(raw, digestOf),
    indexers: syncIndexers.sharedSecrets,
    enqueue,
    says: ({ key, before, after }) => {
      const [former, current] = [before, after].map((source) =>
        source?.secret.metadata.deletionTimestamp === undefined ? source?.options : undefined,
      );
      const about = { kind: "SharedSecret", object: key };
      const projects = [former?.projects, current?.projects];
      const clusters = [former?.clusters, current?.clusters];
      return [
        ...gainedOrLost("projects of a SharedSecret changed", about, projects),
        ...gainedOrLost("clusters of a SharedSecret changed", about, clusters),
      ];
    },
    enqueueAll: ({ queues, stores, yielder }) =>
      yielder.forEach(stores.sharedSecrets.values(), (source) => {
        queues.sharedSecret.add(keyOf(source.secret.metadata), "low");
        for (const target of targetsOf(source, stores)) queues.copy.add(keyOf(target), "low");
      }),
  };
}

function enqueue({ key, before, after }: Change<Source>, enqueuer: Enqueuer): void {
  const { queues, stores } = enqueuer;
  queues.sharedSecret.add(key, "high");
  if (!concernsCopies(before, after)) return;
  for (const source of statesWithTargets(before, after)) {
    const targets = targetsOf(source, stores);
    const wanted = new Set(targets.map(keyOf));
    for (const target of wanted)
      queues.copy.add(target, stores.copies.has(target) ? "low" : "normal");
    for (const target of targets) enqueueConflicting(source, target, enqueuer);
    for (const copy of copyKeysOf(source, stores))
      queues.copy.add(copy, wanted.has(copy) ? "low" : "normal");
  }
  // Those that are not permitted: any namespace may ask.
  for (const request of requestsFor(refOf(key), stores)) queues.copy.add(request, "low");
}

/** The states whose targets differ: a change of the data alone does not change them. */
function statesWithTargets(
  before: Source | undefined,
  after: Source | undefined,
): readonly Source[] {
  const states = [before, after].filter((state) => state !== undefined);
  const [first, second] = states;
  return first !== undefined && second !== undefined && haveSameTargets(first, second)
    ? [second]
    : states;
}

function haveSameTargets(before: Source, after: Source): boolean {
  const [one, other] = [before.secret.metadata, after.secret.metadata];
  return (
    one.uid === other.uid &&
    one.deletionTimestamp === other.deletionTimestamp &&
    isSame(before.options, after.options)
  );
}

/** Enqueues the other SharedSecrets that sync to the target of this one. */
function enqueueConflicting(
  source: Source,
  target: ObjectRef,
  { queues, stores }: SyncState,
): void {
  for (const { secret } of candidatesFor(target, stores)) {
    if (secret.metadata.uid !== source.secret.metadata.uid)
      queues.sharedSecret.add(keyOf(secret.metadata), "low");
  }
}

/** Whether a change of a SharedSecret affects its copies. */
function concernsCopies(before: Source | undefined, after: Source | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  return (
    before.digest !== after.digest ||
    before.ownDigest !== after.ownDigest ||
    !haveSameTargets(before, after)
  );
}

/** Starts the refresh of the targets of a source if it requests one; returns its progress. */
export function startRefresh(source: Source, now: number, state: SyncState): RefreshProgress {
  const { stores } = state;
  const targets = () => [...targetsOf(source, stores), ...copyKeysOf(source, stores).map(refOf)];
  return observeRefresh(source, { targets, now }, state);
}
