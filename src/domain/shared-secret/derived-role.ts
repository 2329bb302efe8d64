import { annotations, apiVersion, group, labels } from "../../api/names.ts";
import type { Manifest, ManifestMetadata, Metadata, OwnerReference } from "../../api/object.ts";
import { apiVersionOf, resources } from "../../api/resources.ts";
import type { ResourceRule, ObservedRoleBinding, ObservedRole, Subject } from "../../api/role.ts";
import { withoutEnd } from "../../api/text-end.ts";
import type { Wire } from "../../api/wire.ts";
import { distinct, type Grant, grantableVerbs, type Permission } from "./access-rules.ts";
import { isSame } from "../plan/merge-patch.ts";
import { hashName } from "../hash-name.ts";
import { dataCopyRef } from "../sync/data-copy.ts";

/** A wanted Role and RoleBinding of a SharedSecret; both have the same name. */
export interface DerivedRole {
  readonly name: string;
  readonly permission: Permission;
  readonly subjects: readonly Subject[];
  /** Names of the rules that it is derived from, for people. */
  readonly rules: string;
}

/** The name prefix of derived Roles. */
export const derivedPrefix = "latchkey-";

const derivedForm = new RegExp(`^${derivedPrefix}.+-[0-9a-f]{16}$`);

/**
 * Maximum length of a rule name in the annotation: 256 such names fit into the 256 KiB that the API
 * server accepts.
 */
const longestLabel = 64;

const longestPart = 63 - derivedPrefix.length - 1 - 16;

/**
 * The name of the Role for a permission, at most 63 characters; each permission has a Role of its
 * own.
 */
export function derivedName(
  secret: { readonly name: string; readonly uid: string },
  permission: Permission,
): string {
  const hash = hashName([
    secret.uid,
    permission.verbs.join(","),
    permission.status ? "status" : "",
    ...(permission.data === true ? ["data"] : []),
  ]);
  return `${readablePrefix(secret)}${hash}`;
}

function readablePrefix({ name }: { readonly name: string }): string {
  return `${derivedPrefix}${withoutEnd(name.slice(0, longestPart), "-.")}-`;
}

/** Whether an object may have a name derived from that object, by its readable part alone. */
export function mayBeDerived(secret: { readonly name: string }, name: string): boolean {
  const prefix = readablePrefix(secret);
  return name.startsWith(prefix) && name.length === prefix.length + 16;
}

/**
 * The Roles for the grants, one per permission, sorted by name. With `hasDataCopy`, who may get the
 * SharedSecret may also get the copy beside it.
 */
export function derivedRoles(
  secret: Metadata,
  grants: readonly Grant[],
  hasDataCopy = false,
): readonly DerivedRole[] {
  const byName = new Map<string, Grant[]>();
  for (const written of grants) {
    const reads = hasDataCopy && written.permission.verbs.includes("get");
    const grant = reads
      ? { ...written, permission: { ...written.permission, data: true as const } }
      : written;
    const name = derivedName(secret, grant.permission);
    const same = byName.get(name);
    if (same === undefined) byName.set(name, [grant]);
    else same.push(grant);
  }
  return [...byName]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, same]) => merged(name, same));
}

function merged(name: string, grants: readonly Grant[]): DerivedRole {
  return {
    name,
    permission: grants[0]?.permission ?? { verbs: [], status: false },
    subjects: distinct(grants.flatMap((grant) => grant.subjects)),
    rules: JSON.stringify(
      [...new Set(grants.flatMap((grant) => grant.label?.slice(0, longestLabel) ?? []))].sort(),
    ),
  };
}

/** The manifest of the Role. */
export function roleManifest(secret: Metadata, role: DerivedRole): Manifest {
  return {
    apiVersion: apiVersionOf(resources.roles),
    kind: resources.roles.kind,
    metadata: derivedMetadata(secret, role),
    rules: rulesFor(secret, role.permission),
  } satisfies Wire<"Role">;
}

/** The manifest of the RoleBinding, with these subjects. */
export function bindingManifest(
  secret: Metadata,
  role: DerivedRole,
  subjects: readonly Subject[],
): Manifest {
  return {
    apiVersion: apiVersionOf(resources.roleBindings),
    kind: resources.roleBindings.kind,
    metadata: derivedMetadata(secret, role),
    roleRef: { apiGroup: resources.roles.group, kind: resources.roles.kind, name: role.name },
    subjects,
  } satisfies Wire<"RoleBinding">;
}

function derivedMetadata(secret: Metadata, role: DerivedRole): ManifestMetadata {
  return {
    ...(secret.namespace === undefined ? {} : { namespace: secret.namespace }),
    name: role.name,
    labels: { [labels.sourceUid]: secret.uid },
    annotations: { [annotations.source]: secret.name, [annotations.rules]: role.rules },
    ownerReferences: [ownerOf(secret)],
  };
}

function ownerOf({ name, uid }: Metadata): OwnerReference {
  return { apiVersion, kind: resources.sharedSecrets.kind, name, uid, controller: true };
}

function rulesFor(
  secret: { readonly name: string; readonly uid: string },
  { verbs, status, data }: Permission,
): readonly ResourceRule[] {
  const plural = resources.sharedSecrets.plural;
  const covered = status ? [plural, `${plural}/status`] : [plural];
  const rule = {
    apiGroups: [group],
    resources: covered,
    resourceNames: [secret.name],
    verbs: [...verbs],
  };
  if (data !== true) return [rule];
  const { group: apiGroup, plural: secrets } = resources.secrets;
  const copy = [dataCopyRef(secret).name];
  return [
    rule,
    { apiGroups: [apiGroup], resources: [secrets], resourceNames: copy, verbs: ["get"] },
  ];
}

/** Whether the rules of a Role match its name, which shows that it was not edited. */
export function isAsWritten(
  secret: { readonly name: string; readonly uid: string },
  role: ObservedRole,
): boolean {
  const [rule, data] = role.rules;
  if (rule === undefined) return false;
  const permission = {
    verbs: rule.verbs,
    status: rule.resources.length > 1,
    ...(data === undefined ? {} : { data: true as const }),
  };
  const written = rulesFor(secret, permission).map((one) => ({ ...one, nonResourceURLs: [] }));
  return isSame(role.rules, written) && derivedName(secret, permission) === role.metadata.name;
}

/** Whether a derived object has Latchkey's labels, annotations and owner reference. */
export function isMarked(
  secret: Metadata,
  role: DerivedRole,
  observed: ObservedRole | ObservedRoleBinding,
): boolean {
  const wanted = derivedMetadata(secret, role);
  const { labels: givenLabels, annotations: givenAnnotations } = observed.metadata;
  const marks = [annotations.source, annotations.rules] as const;
  return (
    givenLabels[labels.sourceUid] === secret.uid &&
    marks.every((mark) => givenAnnotations[mark] === wanted.annotations?.[mark]) &&
    isSame(observed.ownerReferences, wanted.ownerReferences)
  );
}

/**
 * The uid of the SharedSecret of a derived object; undefined if the object is not managed by
 * Latchkey. Requires the form of the name and a label or annotation of Latchkey: other tools also
 * set owner references.
 */
export function sourceUidOf(observed: ObservedRole | ObservedRoleBinding): string | undefined {
  const { name, labels: givenLabels, annotations: givenAnnotations } = observed.metadata;
  const isOurs =
    derivedForm.test(name) &&
    (givenLabels[labels.sourceUid] !== undefined ||
      givenAnnotations[annotations.source] !== undefined);
  if (!isOurs) return undefined;
  const owner = observed.ownerReferences.find(
    ({ kind, apiVersion: version }) =>
      kind === resources.sharedSecrets.kind && version === apiVersion,
  );
  return owner?.uid ?? givenLabels[labels.sourceUid];
}

/** Whether the owner reference or the label of a derived object has this uid. */
export function isMarkedWith(uid: string, observed: ObservedRole | ObservedRoleBinding): boolean {
  return sourceUidOf(observed) === uid || observed.metadata.labels[labels.sourceUid] === uid;
}

/**
 * Whether this is the name of a Role or RoleBinding derived from that object: it must contain the
 * hash of a possible permission.
 */
export function isDerivedName(
  secret: { readonly name: string; readonly uid: string },
  name: string,
): boolean {
  return (
    mayBeDerived(secret, name) &&
    [true, false].some((status) =>
      verbSets.some(
        (verbs) =>
          derivedName(secret, { verbs, status }) === name ||
          (verbs.includes("get") && derivedName(secret, { verbs, status, data: true }) === name),
      ),
    )
  );
}

/** Every set of verbs that a rule can name. */
const verbSets: readonly (readonly string[])[] = grantableVerbs
  .reduce<readonly (readonly string[])[]>(
    (sets, verb) => [...sets, ...sets.map((set) => [...set, verb])],
    [[]],
  )
  .filter((set) => set.length > 0);
