import { labels } from "../../api/names.ts";
import { keyOf, refOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { ObservedCopy, UnmanagedSecret } from "../../domain/sync/copy.ts";
import { placeholderRequestOf } from "../../domain/sync/placeholder.ts";
import { ownerOf, syncIndexers } from "../../domain/sync/sync-objects.ts";
import type { Change } from "../../kube/store.ts";
import { observedCopy } from "../../tokens/observed-data.ts";
import { copyReconciler } from "../copy.ts";
import { decodeCopy, encodeCopy } from "../copy-codec.ts";
import type { Enqueuer } from "../enqueuer.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** Secrets with Latchkey's label: metadata and a digest of their data. */
export function copyKind({ digestOf }: KindContext): WatchedKind<ObservedCopy> {
  return {
    listOptions: { resource: resources.secrets, labelSelector: labels.sourceUid },
    parse: (raw) => observedCopy(raw, digestOf),
    indexers: syncIndexers.copies,
    codec: {
      encode: ({ value }) => encodeCopy(value),
      decode(text, key) {
        const value = decodeCopy(text, refOf(key));
        return {
          uid: value.metadata.uid,
          resourceVersion: value.metadata.resourceVersion,
          value,
        };
      },
    },
    enqueue: enqueueSecret,
    enqueueAll: ({ queues, stores, yielder }) =>
      yielder.forEach(stores.copies.keys(), (key) => queues.copy.add(key, "low")),
    reconciler: copyReconciler,
  };
}

/**
 * Enqueues a Secret of a project namespace, and the status of the SharedSecrets that sync to it.
 */
export function enqueueSecret(
  { key, before, after }: Change<ObservedCopy | UnmanagedSecret>,
  enqueuer: Enqueuer,
): void {
  enqueuer.queues.copy.add(key, "high");
  enqueuer.statusAt(refOf(key));
  for (const secret of [before, after]) {
    const source = secret && placeholderRequestOf(secret.metadata)?.source;
    const requested = source && enqueuer.stores.sharedSecrets.get(keyOf(source));
    if (requested !== undefined) enqueuer.status(requested);
  }
  const owners = [before, after].map((secret) => ownerOf(secret, enqueuer.stores));
  for (const owner of new Set(owners)) if (owner !== undefined) enqueuer.status(owner);
}
