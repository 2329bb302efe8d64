import { accessKeyCodec } from "../../authn/access-key-codec.ts";
import { keyIndexers, keyIndexes } from "../../authn/key-resolver.ts";
import type { Metadata } from "../../api/object.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { resources } from "../../api/resources.ts";
import { connectorDataRef } from "../../domain/access-key/connector-data-ref.ts";
import { keyIndexOf } from "../../domain/access-key/key-digest.ts";
import { isEndUnrecorded } from "../../domain/access-key/owned-access-key.ts";
import { requesterHashOf } from "../../domain/grants/granted-names.ts";
import type { Change, Indexer } from "../../kube/store.ts";
import { accessKeyCacheEntry } from "../../tokens/access-key.ts";
import { type Enqueuer, valuesOf } from "../enqueuer.ts";
import { ownedAccessKeyReconciler } from "../owned-access-key.ts";
import { indexes } from "../stores.ts";
import { indexedBy, type WatchedKind } from "./watched-kind.ts";

/** Indexers for the requester of a key or token, and for the key that it was requested with. */
export const requesterIndexers: Readonly<Record<string, Indexer<{ readonly metadata: Metadata }>>> =
  {
    [indexes.requester]: ({ metadata }) => requesterHashOf(metadata),
    [indexes.parentKey]: ({ metadata }) => indexedBy(requesterAnnotationsOf(metadata)?.keyId),
  };

/** OwnedAccessKeys, without their keys. */
export function ownedAccessKeyKind(): WatchedKind<ObservedAccessKey> {
  return {
    listOptions: { resource: resources.ownedAccessKeys },
    parse: accessKeyCacheEntry,
    indexers: {
      ...keyIndexers,
      ...requesterIndexers,
      [indexes.connectorData]: (key) => indexedBy(claimedSecret(key)),
    },
    codec: accessKeyCodec,
    enqueue,
    /** Enqueues keys, tokens and grants, those of one requester together. */
    async enqueueAll(enqueuer) {
      const { queues, stores, yielder } = enqueuer;
      await yielder.forEach(enqueuer.requested(), ({ queue, key }) => queue.add(key, "low"));
      for (const secret of stores.keys.namesIn(indexes.connectorData))
        queues.connectorData.add(secret, "low");
    },
    countedAs: (key) => key,
    reconciler: ownedAccessKeyReconciler,
  };
}

function enqueue(change: Change<ObservedAccessKey>, enqueuer: Enqueuer): void {
  const { queues, stores } = enqueuer;
  const { key, before, after } = change;
  // Recording an expiry must not delay keys that expire now.
  queues.key.add(key, after !== undefined && isEndUnrecorded(after) ? "normal" : "high");
  enqueuer.forgetDeleted(before, after);
  for (const index of valuesOf(change, ({ keyDigest }) => keyDigest && keyIndexOf(keyDigest))) {
    for (const sameIndex of stores.keys.keysBy(keyIndexes.keyIndex, index))
      queues.key.add(sameIndex, "high");
  }
  for (const uid of valuesOf(change, ({ metadata }) => metadata.uid)) enqueuer.childrenOf(uid);
  for (const secret of valuesOf(change, claimedSecret)) queues.connectorData.add(secret, "high");
  enqueuer.grantsOf(before, after);
}

function claimedSecret({ metadata }: ObservedAccessKey): string | undefined {
  return connectorDataRef(metadata.annotations)?.secret;
}
