import { keyOf, type ObjectRef, refOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { isSame } from "../../domain/plan/merge-patch.ts";
import type { Source } from "../../domain/sync/copy.ts";
import {
  candidatesFor,
  copyKeysOf,
  requestsFor,
  syncIndexers,
  targetsOf,
} from "../../domain/sync/sync-objects.ts";
import { isFinalizing } from "../../domain/sync/sync-target.ts";
import type { Change } from "../../kube/store.ts";
import { observedSource } from "../../tokens/observed-data.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { sharedSecretReconciler } from "../shared-secret.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** SharedSecrets, with a digest of the data of their copies and without large data. */
export function sharedSecretKind({ digestOf }: KindContext): WatchedKind<Source> {
  return {
    listOptions: { resource: resources.sharedSecrets },
    parse: (raw) => observedSource(raw, digestOf),
    indexers: syncIndexers.sharedSecrets,
    enqueue,
    enqueueAll: ({ queues, stores, yielder }) =>
      yielder.forEach(stores.sharedSecrets.values(), (source) => {
        queues.sharedSecret.add(keyOf(source.secret.metadata), "low");
        for (const target of targetsOf(source, stores)) queues.copy.add(keyOf(target), "low");
      }),
    countedAs: ({ secret }) => secret,
    reconciler: sharedSecretReconciler,
  };
}

function enqueue({ key, before, after }: Change<Source>, enqueuer: Enqueuer): void {
  const { queues, stores } = enqueuer;
  queues.sharedSecret.add(key, "high");
  enqueuer.forgetDeleted(before?.secret, after?.secret);
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
    // Then its copies are withdrawn, also those that were written during its finalization.
    isFinalizing(before) === isFinalizing(after) &&
    isSame(before.options, after.options)
  );
}

/** Enqueues the other SharedSecrets that sync to the target of this one. */
function enqueueConflicting(
  source: Source,
  target: ObjectRef,
  { queues, stores }: Pick<Enqueuer, "queues" | "stores">,
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
