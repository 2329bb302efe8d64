import { labels } from "../../api/names.ts";
import { refOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { ObservedCopy, UnmanagedSecret } from "../../domain/sync/copy.ts";
import { syncIndexers } from "../../domain/sync/sync-objects.ts";
import type { Change } from "../../kube/store.ts";
import { observedCopy } from "../../tokens/observed-data.ts";
import { reconcileCopy } from "../copy.ts";
import { decodeCopy, encodeCopy } from "../copy-codec.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { indexes } from "../stores.ts";
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
    reconciler: {
      controller: "copy",
      queue: "copy",
      workers: ({ writers }) => writers,
      reconcile: (key, deps) => reconcileCopy(key, { ...deps, client: deps.copyClient }),
    },
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
  const uids = [before, after].map((secret) => secret?.metadata.labels[labels.sourceUid]);
  for (const uid of new Set(uids)) {
    const [owner] = uid === undefined ? [] : enqueuer.stores.sharedSecrets.by(indexes.uid, uid);
    if (owner !== undefined) enqueuer.status(owner);
  }
}
