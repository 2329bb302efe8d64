import type { PolicyStores } from "../authn/requester-policies.ts";
import type { EndpointToken } from "../api/endpoint-token.ts";
import { annotations, labels } from "../api/names.ts";
import { byAge, type Key, keyOf, type Metadata, type ObjectRef } from "../api/object.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import type { ObservedResourceQuota } from "../api/resource-quota.ts";
import type { GrantBinding, GrantRole } from "../api/requester-grant.ts";
import type { ObservedRoleBinding, ObservedRole } from "../api/role.ts";
import type { ObservedConnectorSecret } from "../domain/access-key/connector-data.ts";
import type { RevokedTokens } from "../domain/endpoint-token/revoked-tokens.ts";
import type { ObservedCopy, Source, UnmanagedSecret } from "../domain/sync/copy.ts";
import { copiedSource } from "../domain/sync/copy.ts";
import { fitsAny } from "../domain/sync/sync-options.ts";
import type { EmptyProject } from "../domain/sync/sync-summary.ts";
import type { ObservedTarget } from "../domain/sync/sync.ts";
import {
  isEligible,
  isPermitted,
  isNotPermitted,
  namesProject,
  acceptsCopies,
  targetIn,
} from "../domain/sync/sync-target.ts";
import type { ReadStore } from "../kube/store.ts";
import type { ObservedSigningKeys } from "../tokens/signing-keys.ts";

/** The caches of the informers, from which reconciles decide. */
export interface Stores {
  readonly sharedSecrets: ReadStore<Source>;
  readonly namespaces: ReadStore<Metadata>;
  readonly copies: ReadStore<ObservedCopy>;
  readonly unmanagedSecrets: ReadStore<UnmanagedSecret>;
  readonly roles: ReadStore<ObservedRole>;
  readonly roleBindings: ReadStore<ObservedRoleBinding>;
  readonly resourceQuotas: ReadStore<ObservedResourceQuota>;
  readonly clusterRoles: ReadStore<GrantRole>;
  readonly clusterRoleBindings: ReadStore<GrantBinding>;
  readonly keys: ReadStore<ObservedAccessKey>;
  readonly tokens: ReadStore<EndpointToken>;
  readonly requesterPolicies: PolicyStores;
  readonly signingKeys: ReadStore<ObservedSigningKeys>;
  /** ConfigMaps of Latchkey's own namespace with the revoked tokens. */
  readonly revokedTokens: ReadStore<RevokedTokens>;
  /** Secrets of Latchkey's own namespace with the connector data of keys. */
  readonly connectorData: ReadStore<ObservedConnectorSecret>;
  /** ClusterRoles that scopes may name. */
  readonly scopeRoles: ReadStore<Metadata>;
}

/** Index names of the stores. */
export const indexes = {
  uid: "uid",
  namespace: "namespace",
  secretName: "secret-name",
  sourceUid: "source-uid",
  project: "project",
  requester: "requester",
  parentKey: "parent-key",
  scopeRole: "scope-role",
  connectorData: "connector-data",
  grantedName: "granted-name",
} as const;

/** The permitted targets of a source, in the namespaces of the projects that its globs match. */
export function targetsOf(
  source: Source,
  { namespaces }: Pick<Stores, "namespaces">,
): readonly (ObjectRef & { readonly namespace: string })[] {
  if (!isEligible(source)) return [];
  return [...namespaces.namesIn(indexes.project)]
    .filter((project) => namesProject(source, project))
    .flatMap((project) => namespaces.by(indexes.project, project))
    .filter((namespace) => isPermitted(source, namespace))
    .map(({ name }) => targetIn(name, source));
}

/** The projects that a source names and that have no namespace that accepts its copies. */
export function emptyProjectsOf(
  source: Source,
  { namespaces }: Pick<Stores, "namespaces">,
): readonly EmptyProject[] {
  if (!isEligible(source)) return [];
  return source.options.projects.flatMap((glob) => {
    const projects = glob.includes("*")
      ? [...namespaces.namesIn(indexes.project)].filter((project) => fitsAny(project, [glob]))
      : [glob];
    const inProject = projects
      .flatMap((project) => namespaces.by(indexes.project, project))
      .filter(({ deletionTimestamp }) => deletionTimestamp === undefined);
    if (inProject.some((namespace) => isPermitted(source, namespace))) return [];
    return [
      {
        project: glob,
        namespaces: inProject.length,
        accepting: inProject.filter(acceptsCopies).length,
      },
    ];
  });
}

/** The sources that sync to the Secret `target`, the oldest first. */
export function candidatesFor(
  target: ObjectRef,
  { namespaces, sharedSecrets }: Pick<Stores, "namespaces" | "sharedSecrets">,
): readonly Source[] {
  const namespace = namespaces.get(target.namespace ?? "");
  if (namespace === undefined || !acceptsCopies(namespace)) return [];
  return sharedSecrets
    .by(indexes.secretName, target.name)
    .filter((source) => isEligible(source) && isPermitted(source, namespace))
    .sort((one, other) => byAge(one.secret, other.secret));
}

/** The observed state of the Secret `target`. */
export function observeTarget(target: ObjectRef, stores: Stores): ObservedTarget {
  const key = keyOf(target);
  const namespace = stores.namespaces.get(target.namespace ?? "");
  const copy = stores.copies.get(key);
  const unmanaged = copy === undefined ? stores.unmanagedSecrets.get(key) : undefined;
  const owner = ownerOf(copy ?? unmanaged, stores);
  const ownerIsNotPermitted =
    owner !== undefined && namespace !== undefined && isNotPermitted(owner, namespace);
  const allowCopyKeys = namespace?.annotations[annotations.allowCopyKeys];
  return {
    candidates: candidatesFor(target, stores),
    ...(copy === undefined ? {} : { copy }),
    ...(unmanaged === undefined ? {} : { unmanaged }),
    ...(owner === undefined ? {} : { owner, ownerIsNotPermitted }),
    isTerminating: namespace === undefined || namespace.deletionTimestamp !== undefined,
    ...(allowCopyKeys === undefined ? {} : { allowCopyKeys }),
  };
}

function ownerOf(
  existing: ObservedCopy | UnmanagedSecret | undefined,
  { sharedSecrets }: Stores,
): Source | undefined {
  if (existing === undefined) return undefined;
  const uid = existing.metadata.labels[labels.sourceUid];
  const byUid = uid === undefined ? undefined : sharedSecrets.by(indexes.uid, uid)[0];
  if (byUid !== undefined) return byUid;
  // The label is missing or was edited: the annotation of the copy decides.
  const claimed = copiedSource(existing.metadata);
  return claimed === undefined ? undefined : sharedSecrets.get(keyOf(claimed));
}

/** Every copy of this source, by label or, if the label is missing, by annotation. */
export function copiesOf(
  { secret }: Source,
  { copies, unmanagedSecrets: strangers }: Pick<Stores, "copies" | "unmanagedSecrets">,
): readonly (ObservedCopy | UnmanagedSecret)[] {
  const labelled = copies
    .by(indexes.sourceUid, secret.metadata.uid)
    .filter(({ metadata }) => copiedSource(metadata) !== undefined);
  return [...labelled, ...strangers.by(indexes.sourceUid, keyOf(secret.metadata))];
}

/** The keys of {@link copiesOf}, and of Secrets that only have the label of the source. */
export function copyKeysOf(
  { secret }: Source,
  { copies, unmanagedSecrets: strangers }: Pick<Stores, "copies" | "unmanagedSecrets">,
): readonly Key[] {
  return [
    ...copies.keysBy(indexes.sourceUid, secret.metadata.uid),
    ...strangers.keysBy(indexes.sourceUid, keyOf(secret.metadata)),
  ];
}
