import { accessKeyCodec } from "../authn/access-key-codec.ts";
import { keyIndexers } from "../authn/key-resolver.ts";
import { requesterPolicyInformers } from "../authn/requester-policies.ts";
import { type EndpointToken, parseEndpointToken } from "../api/endpoint-token.ts";
import { apiVersion, components, labels, ownObjects } from "../api/names.ts";
import { keyOf, type Metadata, type ObjectRef, refOf } from "../api/object.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import { listAt, parseOwnMetadata, recordAt, stringAt } from "../api/parse.ts";
import type { GrantBinding, GrantRole } from "../api/requester-grant.ts";
import { requesterAnnotationsOf } from "../api/requester.ts";
import type { ObservedResourceQuota } from "../api/resource-quota.ts";
import { type Resource, resources } from "../api/resources.ts";
import type { ObservedRoleBinding, ObservedRole } from "../api/role.ts";
import { parseSecret } from "../api/secret.ts";
import { parseSharedSecret } from "../api/shared-secret.ts";
import { connectorClaim } from "../domain/access-key/connector-claim.ts";
import type { ObservedConnectorSecret } from "../domain/access-key/connector-data.ts";
import {
  claimedSource,
  type ObservedCopy,
  type Source,
  sourceOf,
  type UnmanagedSecret,
} from "../domain/sync/copy.ts";
import { encodeCopy, decodeCopy } from "./copy-codec.ts";
import { requesterHash } from "../domain/grants/granted-names.ts";
import { projectOf, readNamespace } from "../domain/sync/sync-target.ts";
import {
  untilProven,
  unprovenBecause,
  type WatchReading,
  watchReadings,
} from "../kube/freshness.ts";
import { Informer, type InformerDeps } from "../kube/informer.ts";
import type { Change, Indexer } from "../kube/store.ts";
import { aborted } from "../runtime/sleep.ts";
import { createDataDigest, type DataDigest } from "../tokens/data-digest.ts";
import { accessKeyCacheEntry } from "../tokens/access-key.ts";
import { parseSigningKeys, type ObservedSigningKeys } from "../tokens/signing-keys.ts";
import { resourceQuotaInformer } from "./quota-informer.ts";
import { rbacInformers } from "./rbac-informers.ts";
import { candidatesFor, indexes, type Stores } from "./stores.ts";

/** What is told of each kind; every handler only puts keys into queues. */
export interface ChangeHandlers {
  readonly sharedSecret: (change: Change<Source>) => void;
  readonly namespace: (change: Change<Metadata>) => void;
  readonly copy: (change: Change<ObservedCopy>) => void;
  readonly unmanagedSecret: (change: Change<UnmanagedSecret>) => void;
  readonly role: (change: Change<ObservedRole | ObservedRoleBinding>) => void;
  readonly grant: (change: Change<GrantRole | GrantBinding>) => void;
  readonly key: (change: Change<ObservedAccessKey>) => void;
  readonly token: (change: Change<EndpointToken>) => void;
  readonly policy: () => void;
  readonly signingKeys: () => void;
  readonly connectorData: (change: Change<ObservedConnectorSecret>) => void;
  readonly scopeRole: () => void;
  readonly resourceQuota: (change: Change<ObservedResourceQuota>) => void;
}

/** All informers of the controller. */
export interface Informers {
  readonly stores: Stores;
  /** Follows the API server until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves once every kind is listed. */
  readonly synced: Promise<void>;
  /** What is not known as it is now, one sentence each. */
  readonly unprovenBecause: () => readonly string[];
  readonly watches: () => readonly WatchReading[];
  /** Takes in the answer to a write of our own. */
  readonly observe: (resource: Resource, answer: unknown) => void;
  /** Takes in what the API server itself says of an object. */
  readonly refresh: (resource: Resource, ref: ObjectRef) => Promise<void>;
  /** Resolves once every kind is known as it is now: a store may have been listed long ago. */
  current(signal: AbortSignal): Promise<void>;
  /** The digest of the stores. */
  readonly digestOf: DataDigest;
}

/** The informers of the controller; `namespace` is Latchkey's own. */
export function createInformers(
  deps: InformerDeps,
  {
    namespace,
    requireSyncFrom,
    on,
  }: { readonly namespace: string; readonly requireSyncFrom: boolean; readonly on: ChangeHandlers },
): Informers {
  const digestOf = createDataDigest();
  const selectOwn = { namespace, fieldSelector: `metadata.name=${ownObjects.signingKeys}` };
  const labelled = labels.sourceUid;

  const sharedSecrets = new Informer<Source>(
    {
      listOptions: { resource: resources.sharedSecrets },
      parse(raw) {
        const secret = parseSharedSecret(raw);
        return sourceOf(secret, digestOf(secret.data));
      },
      indexers: {
        [indexes.uid]: ({ secret }) => [secret.metadata.uid],
        [indexes.namespace]: ({ secret }) => [secret.metadata.namespace ?? ""],
        [indexes.secretName]: ({ options }) => [options.secretName],
      },
      onChange: on.sharedSecret,
    },
    deps,
  );
  const namespaces = new Informer<Metadata>(
    {
      listOptions: { resource: resources.namespaces, metadataOnly: true },
      parse: (raw) => readNamespace(parseOwnMetadata(raw), { requireSyncFrom }),
      indexers: { [indexes.project]: (found) => optional(projectOf(found)) },
      onChange: on.namespace,
    },
    deps,
  );
  const copies = new Informer<ObservedCopy>(
    {
      listOptions: { resource: resources.secrets, labelSelector: labelled },
      parse(raw) {
        const { data, ...rest } = parseSecret(raw);
        return { ...rest, digest: digestOf(data) };
      },
      indexers: {
        [indexes.sourceUid]: ({ metadata }) => optional(metadata.labels[labelled]),
        [indexes.namespace]: ({ metadata }) => [metadata.namespace ?? ""],
      },
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
      onChange: on.copy,
    },
    deps,
  );
  const strangers = new Informer<UnmanagedSecret>(
    {
      listOptions: {
        resource: resources.secrets,
        labelSelector: `!${labelled}`,
        metadataOnly: true,
      },
      parse: (raw) => parseStranger(raw, stores),
      indexers: {
        [indexes.sourceUid]: ({ metadata }) => optional(claimedKey(metadata)),
        [indexes.namespace]: ({ metadata }) => [metadata.namespace ?? ""],
      },
      onChange: on.unmanagedSecret,
    },
    deps,
  );
  const { roles, roleBindings, clusterRoles, clusterRoleBindings } = rbacInformers(deps, on);
  const quotas = resourceQuotaInformer(deps, on.resourceQuota);
  const keys = new Informer<ObservedAccessKey>(
    {
      listOptions: { resource: resources.ownedAccessKeys },
      parse: accessKeyCacheEntry,
      indexers: {
        ...keyIndexers,
        ...stampIndexers,
        [indexes.connectorData]: ({ metadata }) =>
          optional(connectorClaim(metadata.annotations)?.secret),
      },
      codec: accessKeyCodec,
      onChange: on.key,
    },
    deps,
  );
  const tokens = new Informer<EndpointToken>(
    {
      listOptions: { resource: resources.endpointTokens },
      parse: parseEndpointToken,
      indexers: stampIndexers,
      onChange: on.token,
    },
    deps,
  );
  const policies = requesterPolicyInformers(deps, on.policy);
  const signingKeys = new Informer<ObservedSigningKeys>(
    {
      listOptions: { resource: resources.secrets, ...selectOwn },
      parse: parseSigningKeys,
      onChange: on.signingKeys,
    },
    deps,
  );
  const connectorData = new Informer<ObservedConnectorSecret>(
    {
      listOptions: {
        resource: resources.secrets,
        namespace,
        labelSelector: `${labels.component}=${components.connectorData}`,
        metadataOnly: true,
      },
      parse: (raw) => ({ metadata: parseOwnMetadata(raw), owner: ownerOf(raw) }),
      onChange: on.connectorData,
    },
    deps,
  );
  const scopeRoles = new Informer<Metadata>(
    {
      listOptions: {
        resource: resources.clusterRoles,
        labelSelector: labels.scopeRole,
        metadataOnly: true,
      },
      parse: parseOwnMetadata,
      indexers: { [indexes.scopeRole]: ({ labels: given }) => optional(given[labels.scopeRole]) },
      onChange: on.scopeRole,
    },
    deps,
  );

  const stores: Stores = {
    sharedSecrets: sharedSecrets.store,
    namespaces: namespaces.store,
    copies: copies.store,
    unmanagedSecrets: strangers.store,
    roles: roles.store,
    roleBindings: roleBindings.store,
    clusterRoles: clusterRoles.store,
    clusterRoleBindings: clusterRoleBindings.store,
    keys: keys.store,
    tokens: tokens.store,
    requesterPolicies: policies.stores,
    signingKeys: signingKeys.store,
    connectorData: connectorData.store,
    scopeRoles: scopeRoles.store,
  };
  const first = [
    sharedSecrets,
    namespaces,
    copies,
    roles,
    roleBindings,
    clusterRoles,
    clusterRoleBindings,
    quotas,
    keys,
    tokens,
    ...policies.informers,
    signingKeys,
    connectorData,
    scopeRoles,
  ];
  const all = [...first, strangers];
  const byResource = new Map<Resource, Pick<Informer<unknown>, "observe" | "refresh">>([
    [resources.sharedSecrets, sharedSecrets],
    [resources.roles, roles],
    [resources.roleBindings, roleBindings],
    [resources.clusterRoles, clusterRoles],
    [resources.clusterRoleBindings, clusterRoleBindings],
    [resources.ownedAccessKeys, keys],
    [resources.endpointTokens, tokens],
  ]);
  return {
    stores,
    digestOf,
    synced: Promise.all(all.map((informer) => informer.synced)).then(() => undefined),
    current: (signal) => untilProven(all, { clock: deps.clock, signal }),
    async run(signal) {
      // Which other Secrets are worth keeping follows from namespaces and SharedSecrets.
      const later = Promise.all([sharedSecrets.synced, namespaces.synced]).then(() =>
        strangers.run(signal),
      );
      await Promise.all([
        ...first.map((informer) => informer.run(signal)),
        Promise.race([later, aborted(signal)]),
      ]);
    },
    unprovenBecause: () =>
      all.flatMap(
        ({ resource, watchState }) =>
          unprovenBecause(resource.plural, watchState, deps.clock.monotonic()) ?? [],
      ),
    watches: () => watchReadings(all, deps.clock),
    observe(resource, answer) {
      if (resource !== resources.secrets) return byResource.get(resource)?.observe(answer);
      const given = parseOwnMetadata(answer).labels;
      if (given[labelled] !== undefined) copies.observe(answer);
      else if (given[labels.component] === components.connectorData) connectorData.observe(answer);
      else signingKeys.observe(answer);
    },
    async refresh(resource, ref) {
      const key = keyOf(ref);
      if (resource !== resources.secrets) return byResource.get(resource)?.refresh(key);
      const isOwn = ref.namespace === namespace;
      if (isOwn)
        await (ref.name === ownObjects.signingKeys ? signingKeys : connectorData).refresh(key);
      // As metadata first: a Secret of others that stands in the way is never read whole.
      await strangers.refresh(key);
      if (copies.store.has(key) || (!isOwn && !strangers.store.has(key))) await copies.refresh(key);
    },
  };
}

/**
 * Kept only where a copy is wanted, or where the Secret says that it is Latchkey's copy; without
 * what others put on it.
 */
function parseStranger(raw: unknown, stores: Stores): UnmanagedSecret | undefined {
  const metadata = parseOwnMetadata(raw);
  if (metadata.labels[labels.sourceUid] !== undefined) return undefined;
  if (claimedSource(metadata) !== undefined) return { metadata };
  return candidatesFor(metadata, stores).length === 0 ? undefined : { metadata };
}

/** The key that a Secret belongs to. */
function ownerOf(raw: unknown): ObservedConnectorSecret["owner"] {
  const owner = listAt(recordAt(raw, "metadata"), "ownerReferences").find(
    (reference) =>
      stringAt(reference, "kind") === resources.ownedAccessKeys.kind &&
      stringAt(reference, "apiVersion") === apiVersion,
  );
  const [name, uid] = [stringAt(owner, "name"), stringAt(owner, "uid")];
  return name === undefined || uid === undefined ? undefined : { name, uid };
}

function claimedKey(metadata: Metadata): string | undefined {
  const claimed = claimedSource(metadata);
  return claimed === undefined ? undefined : keyOf(claimed);
}

/** Who asked, and with which key. */
const stampIndexers: Readonly<Record<string, Indexer<{ readonly metadata: Metadata }>>> = {
  [indexes.requester]: ({ metadata }) => requesterHashOf(metadata),
  [indexes.parentKey]: ({ metadata }) => optional(requesterAnnotationsOf(metadata)?.keyId),
};

/** The requester hash of the stamp on a key or a token, if it has one. */
export function requesterHashOf(metadata: Metadata): readonly string[] {
  const stamp = requesterAnnotationsOf(metadata);
  return stamp === undefined ? [] : [requesterHash(stamp.name)];
}

function optional(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}
