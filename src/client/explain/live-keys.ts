import { annotations, labels, ownObjects, requesterPolicies } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import { parseMetadata } from "../../api/parse.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { parseRole } from "../../api/role.ts";
import {
  createKeyResolver,
  type KeyResolver,
  keyIndexers,
} from "../../domain/access-key/key-resolver.ts";
import type { Issuers } from "../../domain/oidc/trusted-tokens.ts";
import type { PolicyStores } from "../../domain/requester/installed-policies.ts";
import type { KeyConfig, ResolvedKey } from "../../domain/access-key/key-state.ts";
import { type ScopeRoles, scopeRolesIn } from "../../domain/scope/scope-roles.ts";
import { type Indexer, Store } from "../../kube/informer/store.ts";
import { issuersInConfigMap } from "../admin/issuers.ts";
import { accessKeyCacheEntry } from "../../tokens/access-key.ts";
import type { Cluster } from "../connection/cluster.ts";
import { readableNames } from "../objects/listing.ts";
import {
  type MissingRight,
  distinctRights,
  type Readable,
  readObject,
  readWith,
} from "../missing-right.ts";

/** A key with everything that decides about it, as far as the user may read it. */
export interface LiveKey {
  readonly resolved: ResolvedKey;
  readonly roles: ScopeRoles;
  /** Whether all roles of scopes could be read. */
  readonly areRolesKnown: boolean;
  /** Whether a parent key may exist that the user may not read; the key is resolved without it. */
  readonly isParentHidden: boolean;
  /** Rights without which objects that may decide could not be read. */
  readonly missing: readonly MissingRight[];
}

/**
 * Reads the objects that decide about a key: other keys for its parent and for duplicates, the
 * policies that record requesters, and the roles of scopes. Where the user may not read the
 * policies, the recorded requester counts.
 */
export async function readLiveKey(
  raw: unknown,
  config: KeyConfig,
  cluster: Cluster,
): Promise<LiveKey> {
  const own = accessKeyCacheEntry(raw);
  const keys = await otherKeys(cluster);
  const policies = await readPolicies(cluster);
  const roles = await readRoles(cluster);
  const issuers = await readIssuers(own, config, cluster);
  const arePoliciesKnown = policies.missing.length === 0;
  const resolver = createKeyResolver({
    keys: storeOf([...keys.found, own], ({ metadata }) => metadata, keyIndexers),
    policies: policies.found,
    issuers: () => issuers.found,
    config,
  });
  const found = resolver.resolve(own);
  const recorded = arePoliciesKnown ? found : withRecordedRequester(found, resolver);
  const areKeysKnown = keys.missing.length === 0;
  const visible = areKeysKnown
    ? { resolved: recorded, isParentHidden: false }
    : withVisibleParents(recorded);
  const parts = [keys, policies, issuers, ...(own.spec.scope === "none" ? [] : [roles])];
  return {
    ...visible,
    roles: roles.found,
    areRolesKnown: roles.missing.length === 0,
    missing: distinctRights(parts.flatMap(({ missing }) => missing)),
  };
}

/** A key without the oldest parent key if that was not found, which the user may not read. */
function withVisibleParents({
  parentKey,
  ...own
}: ResolvedKey): Pick<LiveKey, "resolved" | "isParentHidden"> {
  if (parentKey === undefined) return { resolved: own, isParentHidden: false };
  if (parentKey === "gone") return { resolved: own, isParentHidden: true };
  const { resolved, isParentHidden } = withVisibleParents(parentKey);
  return { resolved: { ...own, parentKey: resolved }, isParentHidden };
}

function withRecordedRequester(
  resolved: ResolvedKey,
  resolver: Pick<KeyResolver, "parentKey">,
): ResolvedKey {
  const recorded = requesterAnnotationsOf(resolved.key.metadata);
  if (recorded === undefined) return resolved;
  const requester = { kind: "known", ...recorded } as const;
  return { ...resolved, requester, ...resolver.parentKey(requester) };
}

/** All keys, or those that roles name. */
async function otherKeys({
  select,
  review,
  get,
}: Cluster): Promise<Readable<readonly ObservedAccessKey[]>> {
  const resource = resources.ownedAccessKeys;
  const listed = await readWith({ verb: "list", resource }, () => select({ resource }), []);
  if (listed.missing.length === 0)
    return { found: listed.found.map(accessKeyCacheEntry), missing: [] };
  const { names } = await readableNames({ review }, resource, "default");
  const found: ObservedAccessKey[] = [];
  for (const name of names) {
    const single = await readObject(resource, { name }, get);
    if (single.found !== undefined) found.push(accessKeyCacheEntry(single.found));
  }
  return { found, missing: listed.missing };
}

/** The objects of {@link PolicyStores}, read once. */
async function readPolicies({ getMetadata }: Cluster): Promise<Readable<PolicyStores>> {
  const missing: MissingRight[] = [];
  const storeWith = async (resource: Resource, name: string): Promise<Store<Metadata>> => {
    // A server that does not serve mutating policies answers as for a missing object.
    const single = await readObject(resource, { name }, getMetadata);
    missing.push(...single.missing);
    return storeOf(single.found === undefined ? [] : [parseMetadata(single.found)], same);
  };
  const { annotations: writer, lock, guard } = requesterPolicies;
  const all = (wanted: readonly Resource[], name: string): Promise<readonly Store<Metadata>[]> =>
    Promise.all(wanted.map((resource) => storeWith(resource, name)));
  const policies = await all(
    [resources.mutatingPolicies, resources.mutatingPolicyBindings],
    writer,
  );
  const webhook = await all([resources.mutatingWebhookConfigurations], writer);
  const validating = [resources.validatingPolicies, resources.validatingPolicyBindings];
  const guarding = [...(await all(validating, lock)), ...(await all(validating, guard))];
  return { found: { annotating: [policies, webhook], guarding }, missing };
}

/** The issuers, if the key names one; one that the user may not read counts as configured. */
async function readIssuers(
  { metadata }: ObservedAccessKey,
  { namespace }: KeyConfig,
  { get }: Cluster,
): Promise<Readable<Issuers>> {
  const url = metadata.annotations[annotations.issuer] ?? "";
  if (url === "") return { found: new Map(), missing: [] };
  const ref = { namespace, name: ownObjects.issuers };
  const { found, missing } = await readObject(resources.configMaps, ref, get);
  const named = { url, discoveryUrl: undefined, audiences: [], ca: undefined, required: [] };
  const unread = new Map([[url, { ...named, jwks: undefined }]]);
  return { found: missing.length === 0 ? issuersInConfigMap(found) : unread, missing };
}

async function readRoles({ select }: Cluster): Promise<Readable<ScopeRoles>> {
  const resource = resources.clusterRoles;
  const { found, missing } = await readWith(
    { verb: "list", resource },
    () => select({ resource, labelSelector: labels.scopeRole }),
    [],
  );
  return { found: scopeRolesIn(found.map(parseRole)), missing };
}

function same(metadata: Metadata): Metadata {
  return metadata;
}

function storeOf<T>(
  objects: readonly T[],
  metadataOf: (object: T) => Metadata,
  indexers: Readonly<Record<string, Indexer<T>>> = {},
): Store<T> {
  const store = new Store<T>(indexers);
  for (const value of objects) {
    const { uid, resourceVersion, name } = metadataOf(value);
    store.set(name, { uid, resourceVersion, value });
  }
  return store;
}
