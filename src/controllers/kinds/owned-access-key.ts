import { annotations, labels } from "../../api/names.ts";
import type { Metadata, Key } from "../../api/object.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { type ObservedRole, parseRole } from "../../api/role.ts";
import { issuerConfig, type ObservedIssuers } from "../../authn/issuer-config.ts";
import { podAudiences } from "../../kube/credentials/load-credentials.ts";
import { accessKeyCodec } from "../../authn/access-key-codec.ts";
import { keyIndexers, keyIndexes } from "../../domain/access-key/key-resolver.ts";
import { connectorDataRef } from "../../domain/access-key/connector-data.ts";
import { keyIndexOf } from "../../domain/access-key/key-digest.ts";
import {
  isEndUnrecorded,
  type ObservedOwnedAccessKey,
  planKeyReport,
  planOwnedAccessKey,
} from "../../domain/access-key/owned-access-key.ts";
import { requesterHashOf } from "../../domain/grants/granted-names.ts";
import { nothingToDo } from "../../domain/plan/plan.ts";
import { unknownRoles } from "../../domain/scope/scope-roles.ts";
import { indexedBy } from "../../domain/sync/sync-objects.ts";
import type { Change, Indexer } from "../../kube/informer/store.ts";
import { accessKeyCacheEntry } from "../../tokens/access-key.ts";
import type { CentralEnqueuer } from "../central-enqueuer.ts";
import { valuesOf } from "../enqueuer.ts";
import { finalizeGranted, grantFailure, observeGrant, reportGranted } from "../grants.ts";
import { failureAt } from "../failures.ts";
import type { Answers, ReconcileDecision } from "../question.ts";
import type { Reconciler } from "../reconciler.ts";
import { indexes } from "../stores.ts";
import type { World } from "../world.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** Indexers for the requester of a key or token, and for the key that it was requested with. */
export const requesterIndexers: Readonly<Record<string, Indexer<{ readonly metadata: Metadata }>>> =
  {
    [indexes.requester]: ({ metadata }) => requesterHashOf(metadata),
    [indexes.parentKey]: ({ metadata }) => indexedBy(requesterAnnotationsOf(metadata)?.keyId),
  };

/** OwnedAccessKeys, without their keys. */
export function ownedAccessKeyKind(): WatchedKind<ObservedAccessKey, World> {
  return {
    listOptions: { resource: resources.ownedAccessKeys },
    parse: accessKeyCacheEntry,
    indexers: {
      ...keyIndexers,
      ...requesterIndexers,
      [indexes.connectorData]: (key) => indexedBy(claimedSecret(key)),
      [indexes.issuer]: ({ metadata }) => indexedBy(metadata.annotations[annotations.issuer]),
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

function enqueue(change: Change<ObservedAccessKey>, enqueuer: CentralEnqueuer): void {
  const { queues, stores } = enqueuer;
  const { key, before, after } = change;
  // Recording an expiry must not delay keys that expire now.
  queues.key.add(key, after !== undefined && isEndUnrecorded(after) ? "normal" : "high");
  enqueuer.forgetDeleted("key", before, after);
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

/** The issuers whose tokens stand for keys; without the right to read them, there are none. */
export function issuersKind({
  namespace,
}: Pick<KindContext, "namespace">): WatchedKind<ObservedIssuers, World> {
  const taken = () => ({ audiences: podAudiences(), issuer: undefined });
  const { listOptions, parse, noteChange } = issuerConfig({ namespace, taken });
  return {
    listOptions,
    parse,
    isReadOnly: true,
    isOptional: true,
    enqueue(change, enqueuer) {
      noteChange(change);
      const { keys } = enqueuer.stores;
      for (const issuer of keys.namesIn(indexes.issuer))
        for (const { metadata } of keys.by(indexes.issuer, issuer)) {
          enqueuer.queues.key.add(metadata.name, "low");
          enqueuer.childrenOf(metadata.uid);
        }
    },
  };
}

/** ClusterRoles that the scope of a key may name as a role. */
export function scopeRoleKind(): WatchedKind<ObservedRole, World> {
  return {
    listOptions: { resource: resources.clusterRoles, labelSelector: labels.scopeRole },
    isReadOnly: true,
    publishedIn: ["roles"],
    parse: (raw) => ({ ...parseRole(raw), metadata: parseLatchkeyMetadata(raw) }),
    indexers: {
      [indexes.scopeRole]: ({ metadata }) => indexedBy(metadata.labels[labels.scopeRole]),
    },
    enqueue(_, { queues, stores }) {
      for (const key of stores.keys.keys()) queues.key.add(key, "low");
    },
  };
}

const kind = "OwnedAccessKey";

/** Reconciles an OwnedAccessKey: its status, its expiry and its finalization. */
export const ownedAccessKeyReconciler: Reconciler<World> = {
  queue: "key",
  workers: ({ workers }) => workers,
  decide,
  report: reportGranted(
    kind,
    ({ keys }) => keys,
    (key, failure, world) => planKeyReport({ ...observe(key, world), failure }, world.clock.now()),
  ),
};

function decide(name: Key, world: World, answers: Answers): ReconcileDecision {
  const key = world.stores.keys.get(name);
  if (key === undefined) return nothingToDo;
  const observed = observe(key, world);
  const { requester, failure } = observed;
  return key.metadata.deletionTimestamp === undefined
    ? planOwnedAccessKey(observed, world.clock.now())
    : finalizeGranted({ object: key, kind, requester, failure }, world, answers);
}

function observe(key: ObservedAccessKey, world: World): ObservedOwnedAccessKey {
  const { stores, keyResolver, options: config } = world;
  const { name } = key.metadata;
  const view = keyResolver.resolve(key);
  const { requester } = view;
  const grant = observeGrant({ kind, name }, requester, stores);
  return {
    ...view,
    grant,
    unknownRoles: unknownRoles(
      key.spec.scope,
      (role) => stores.scopeRoles.countBy(indexes.scopeRole, role) > 0,
    ),
    config,
    failure: failureAt("key", name, world) ?? grantFailure(key, { grant, requester }, world),
  };
}
