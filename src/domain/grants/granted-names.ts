import { group, labels } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { resources } from "../../api/resources.ts";
import type {
  ObservedRoleBinding,
  GrantedKind,
  GrantedObject,
  GrantRole,
  PolicyRule,
} from "../../api/role.ts";
import { hashName } from "../hash-name.ts";
import { isSame } from "../plan/merge-patch.ts";

const verbs: readonly string[] = ["delete", "get", "list", "watch"];

/**
 * What a requester is granted on its own objects, in the order of the rules. It may disable a key
 * with `patch`; the policy `latchkey-mint-guard` requires `update` for a change that does more than
 * restrict the key.
 */
export const grants = {
  DirectClusterEndpointToken: { plural: resources.endpointTokens.plural, verbs },
  OwnedAccessKey: { plural: resources.ownedAccessKeys.plural, verbs: [...verbs, "patch"].sort() },
} as const satisfies Record<GrantedKind, Grant>;

interface Grant {
  readonly plural: string;
  readonly verbs: readonly string[];
}

/** The state of the grants of one object. */
export interface GrantState {
  /** The grant of the requester is in force: a role names the object and its binding exists. */
  readonly granted: boolean;
  /** A role of any requester names the object, bound or not. */
  readonly named: boolean;
  /** A role of another requester names the object, bound or not. */
  readonly namedByOthers: boolean;
}

/** Key of an object in the index of granted names: `<plural>/<name>`. */
export function grantKey({ kind, name }: GrantedObject): string {
  return `${grants[kind].plural}/${name}`;
}

/** The object of a {@link grantKey}; a name of another plural counts as that of a token. */
export function grantedObject(key: string): GrantedObject {
  const slash = key.indexOf("/");
  const isKey = key.slice(0, slash) === grants.OwnedAccessKey.plural;
  const kind = isKey ? "OwnedAccessKey" : "DirectClusterEndpointToken";
  return { kind, name: key.slice(slash + 1) };
}

/** Value of the label that ties roles and bindings to a requester, and part of their names. */
export function requesterHash(requester: string): string {
  return hashName([requester], 32);
}

/** The name prefix of a requester's ClusterRoles and ClusterRoleBindings. */
export function chunkPrefix(hash: string): string {
  return `latchkey-requester-${hash}-`;
}

const chunkForm = /^latchkey-requester-([0-9a-f]{32})-\d+$/;

/**
 * The requester hash in the name of a ClusterRole or ClusterRoleBinding; undefined if the name does
 * not have Latchkey's form. Ignores labels.
 */
export function hashInName({ metadata }: GrantRole | ObservedRoleBinding): string | undefined {
  return chunkForm.exec(metadata.name)?.[1];
}

/**
 * Whether Latchkey manages a ClusterRole or ClusterRoleBinding for this requester: by its name, and
 * by Latchkey's label.
 */
export function isGrantOf(hash: string, grant: GrantRole | ObservedRoleBinding): boolean {
  return hashInName(grant) === hash && grant.metadata.labels[labels.requesterHash] !== undefined;
}

/** Keys of the objects that a role names, with any verbs. */
export function grantedNames(role: GrantRole): readonly string[] {
  return role.rules.flatMap(({ resources: plurals, resourceNames }) =>
    plurals.flatMap((plural) => resourceNames.map((name) => `${plural}/${name}`)),
  );
}

/** Whether a rule grants exactly the verbs of a requester, on named objects of one kind. */
export function isGrantRule(rule: PolicyRule): boolean {
  const { resourceNames, ...rest } = rule;
  const plain = Object.values(grants).map((granted) => ({
    apiGroups: [group],
    resources: [granted.plural],
    nonResourceURLs: [],
    verbs: granted.verbs,
  }));
  return resourceNames.length > 0 && plain.some((wanted) => isSame(rest, wanted));
}

/** Whether the binding binds the role of the same name to this requester only. */
export function isGrantBinding(binding: ObservedRoleBinding, requester: string): boolean {
  const { metadata, roleRef, subjects } = binding;
  return (
    isSame(roleRef, { apiGroup: rbac, kind: resources.clusterRoles.kind, name: metadata.name }) &&
    isSame(subjects, [{ kind: "User", apiGroup: rbac, name: requester }])
  );
}

const rbac = resources.clusterRoles.group;

/**
 * The observed input for {@link grantState}: the requester of an object if known, roles (at least
 * all that name the object) and bindings (at least those with the names of these roles).
 */
interface ObservedGrant {
  readonly requester: string | undefined;
  readonly roles: readonly GrantRole[];
  readonly bindings: readonly ObservedRoleBinding[];
}

/** The state of the grants of one object; roles without Latchkey's name and label do not count. */
export function grantState(
  object: GrantedObject,
  { requester, roles, bindings }: ObservedGrant,
): GrantState {
  const key = grantKey(object);
  const naming = roles.filter(
    (role) => hashOf(role) !== undefined && grantedNames(role).includes(key),
  );
  if (requester === undefined)
    return { granted: false, named: naming.length > 0, namedByOthers: naming.length > 0 };
  const own = naming.filter((role) => hashOf(role) === requesterHash(requester));
  return {
    granted: own.some(
      (role) => namesInForce(role).includes(key) && isBound(role, requester, bindings),
    ),
    named: naming.length > 0,
    namedByOthers: own.length < naming.length,
  };
}

/** Keys of the objects that the role's unedited rules grant. */
export function namesInForce(role: GrantRole): readonly string[] {
  return grantedNames({ ...role, rules: role.rules.filter(isGrantRule) });
}

function isBound(
  role: GrantRole,
  requester: string,
  bindings: readonly ObservedRoleBinding[],
): boolean {
  return bindings.some(
    (binding) => binding.metadata.name === role.metadata.name && isGrantBinding(binding, requester),
  );
}

function hashOf(role: GrantRole): string | undefined {
  const hash = hashInName(role);
  return hash !== undefined && isGrantOf(hash, role) ? hash : undefined;
}

/** The hash of the requester of a key or token; empty if no requester is recorded. */
export function requesterHashOf(metadata: Metadata): readonly string[] {
  const requester = requesterAnnotationsOf(metadata);
  return requester === undefined ? [] : [requesterHash(requester.name)];
}
