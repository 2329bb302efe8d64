import { group as ownGroup, labels } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import type { ObservedRole, PolicyRule } from "../../api/role.ts";
import { type ScopeLimit, serviceCLI } from "../../api/scope.ts";
import { isSecrets } from "./derived-credentials.ts";
import { coversPath, qualifiedResource, selectsName } from "./patterns.ts";
import type { ResourceRequest, ScopedRequest } from "./scoped-request.ts";

/**
 * The rules of the roles that scopes can name, by the value of the label that makes a ClusterRole
 * such a role.
 */
export type ScopeRoles = ReadonlyMap<string, readonly PolicyRule[]>;

/** The context of a scope: the roles that exist, and the name of Latchkey's own namespace. */
export interface ScopeContext {
  readonly roles: ScopeRoles;
  readonly ownNamespace: string;
}

/** The read-only requests of the command-line client: SharedSecrets and namespaces. */
const serviceCLIRules: readonly PolicyRule[] = [
  {
    apiGroups: [ownGroup],
    resources: [resources.sharedSecrets.plural, `${resources.sharedSecrets.plural}/status`],
    resourceNames: [],
    verbs: ["get", "list", "watch"],
    nonResourceURLs: [],
  },
  {
    apiGroups: [""],
    resources: [resources.namespaces.plural],
    resourceNames: [],
    verbs: ["get", "list", "watch"],
    nonResourceURLs: [],
  },
];

/**
 * The roles that these ClusterRoles are, by their label; the rules of several with the same label
 * add up, in the order of their names.
 */
export function scopeRolesIn(
  clusterRoles: Iterable<Pick<ObservedRole, "metadata" | "rules">>,
): ScopeRoles {
  const roles = new Map<string, PolicyRule[]>();
  const sorted = [...clusterRoles].sort((one, other) =>
    one.metadata.name < other.metadata.name ? -1 : 1,
  );
  for (const { metadata, rules } of sorted) {
    const role = metadata.labels[labels.scopeRole];
    if (role === undefined || role === "") continue;
    const known = roles.get(role);
    if (known === undefined) roles.set(role, [...rules]);
    else known.push(...rules);
  }
  return roles;
}

/** The rules of a role; undefined if it does not exist. The built-in role cannot be redefined. */
function rulesOf(role: string, roles: ScopeRoles): readonly PolicyRule[] | undefined {
  return role === serviceCLI ? serviceCLIRules : roles.get(role);
}

/** The roles of a scope that do not exist, each once. */
export function unknownRoles(
  limit: ScopeLimit,
  isDefined: (role: string) => boolean,
): readonly string[] {
  if (limit === "none" || limit === "unreadable") return [];
  return [...new Set(limit.roles.map(({ role }) => role))].filter(
    (role) => role !== serviceCLI && !isDefined(role),
  );
}

/**
 * Whether roles apply to a request: to all in the central cluster, and elsewhere to those in a
 * project.
 */
export function haveRoles({ target, project }: ScopedRequest): boolean {
  return target === "Management" || selectsName("*", project);
}

/** Whether a role permits a request; an unknown role permits nothing. */
export function rolePermits(role: string, request: ScopedRequest, roles: ScopeRoles): boolean {
  if (!haveRoles(request)) return false;
  return rulesOf(role, roles)?.some((rule) => permits(rule, request)) === true;
}

/** Whether a rule permits a request, as in RBAC (Kubernetes API reference, PolicyRule). */
function permits(rule: PolicyRule, request: ScopedRequest): boolean {
  if (!includes(rule.verbs, request.verb)) return false;
  if (request.kind === "path")
    return rule.nonResourceURLs.some((pattern) => coversPath(pattern, request.path));
  const isNamed = rule.resourceNames.length === 0 || rule.resourceNames.includes(request.name);
  return isNamed && includes(rule.apiGroups, request.group) && hasResource(rule.resources, request);
}

/**
 * Whether the resources of a role contain that of a request. Secrets must be listed by name: a role
 * with a wildcard does not cover them.
 */
function hasResource(resources: readonly string[], request: ResourceRequest): boolean {
  if (isSecrets(request.group, request.resource))
    return resources.includes(qualifiedResource(request));
  return (
    includes(resources, qualifiedResource(request)) ||
    (request.subresource !== "" && resources.includes(`*/${request.subresource}`))
  );
}

function includes(values: readonly string[], value: string): boolean {
  return values.includes("*") || values.includes(value);
}
