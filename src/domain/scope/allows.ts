import type { Scope, ScopeLimit, ScopeRule } from "../../api/scope.ts";
import { isAlwaysAllowed } from "./always-allowed.ts";
import { isEscape, isGuardedNamespace, isSecrets, namesRequest } from "./derived-credentials.ts";
import {
  coversPath,
  coversResource,
  listsResources,
  qualifiedResource,
  selectsName,
} from "./patterns.ts";
import type { RequestLocation, ResourceRequest, ScopedRequest } from "./scoped-request.ts";
import { roleCovers, type ScopeRoles } from "./scope-roles.ts";

/**
 * The decision of a scope about a request; the reason names the request and is sent to the user.
 */
type ScopeVerdict =
  | { readonly kind: "allowed" }
  | { readonly kind: "denied"; readonly reason: string };

const allowed: ScopeVerdict = { kind: "allowed" };

/** The context of a scope: the roles that exist, and the name of Latchkey's own namespace. */
export interface ScopeContext {
  readonly roles: ScopeRoles;
  readonly ownNamespace: string;
}

/**
 * Whether a request is within a scope (specification, Scope). A scope never grants permissions. Any
 * entry that covers the request is enough, except if the request could yield a credential or change
 * what is in scope: then a rule must name the resource.
 */
export function allows(
  limit: ScopeLimit,
  request: ScopedRequest,
  context: ScopeContext,
): ScopeVerdict {
  if (limit === "none" || (limit !== "unreadable" && isAlwaysAllowed(request))) return allowed;
  if (limit === "unreadable") return denied(request, "the scope is invalid");
  const why =
    request.kind === "resource"
      ? resourceProblem(limit, request, context)
      : pathProblem(limit, request, context);
  return why === undefined ? allowed : denied(request, why);
}

const notCovered = "no entry of the scope covers it";

function pathProblem(
  scope: Scope,
  request: ScopedRequest,
  { roles }: ScopeContext,
): string | undefined {
  const isCovered =
    scope.rules.some((rule) => ruleCovers(rule, request)) ||
    locationIsCovered(scope, request) ||
    scope.roles.some((role) => roleCovers(role, request, roles));
  return isCovered ? undefined : notCovered;
}

function resourceProblem(
  scope: Scope,
  request: ResourceRequest,
  { roles, ownNamespace }: ScopeContext,
): string | undefined {
  if (request.resourceScope === "Unknown") return "the API server does not serve this resource";
  const rules = scope.rules.filter((rule) => ruleCovers(rule, request));
  if (isGuardedNamespace(request.namespace, ownNamespace)) {
    const isNamed = rules.some(
      (rule) => namesRequest(rule, request) && rule.namespaces.includes(request.namespace),
    );
    return isNamed
      ? undefined
      : `namespace ${request.namespace} is protected; a rule must list this namespace and this resource by name`;
  }
  if (isEscape(request)) {
    return rules.some((rule) => namesRequest(rule, request))
      ? undefined
      : "it could escape the scope; a rule must list this resource by name";
  }
  const isOfSecrets = isSecrets(request.group, request.resource);
  // Secrets of all namespaces include those of guarded namespaces.
  if (isOfSecrets && request.namespace === "")
    return "a scope does not cover Secrets of all namespaces; request one namespace";
  const rulesCover = isOfSecrets
    ? rules.some((rule) => namesRequest(rule, request))
    : rules.length > 0;
  const isCovered =
    rulesCover ||
    locationIsCovered(scope, request) ||
    scope.roles.some((role) => roleCovers(role, request, roles));
  if (isCovered) return undefined;
  return rules.length > 0
    ? "a rule covers Secrets only if its resources list secrets by name"
    : notCovered;
}

function denied(request: ScopedRequest, why: string): ScopeVerdict {
  return {
    kind: "denied",
    reason: `the scope of this credential does not allow ${requestText(request)}: ${why}`,
  };
}

/** A request as text: verb, resource and group, name and namespace. */
export function requestText(request: ScopedRequest): string {
  if (request.kind === "path") return `${request.verb} ${request.path}`;
  const resource =
    request.group === ""
      ? qualifiedResource(request)
      : `${qualifiedResource(request)}.${request.group}`;
  const name = request.name === "" ? "" : ` ${request.name}`;
  return `${request.verb} ${resource}${name}${request.namespace === "" ? "" : ` in namespace ${request.namespace}`}`;
}

/**
 * Whether a named project, space, virtual cluster or cluster contains the location of the request.
 */
function locationIsCovered(
  { projects, spaces, virtualClusters, clusters }: Scope,
  location: RequestLocation,
): boolean {
  return (
    projects.some((project) => selectsName(project, location.project)) ||
    spaces.some(
      ({ project, space }) =>
        selectsName(project, location.project) && selectsName(space, location.space),
    ) ||
    virtualClusters.some(
      ({ project, virtualCluster }) =>
        selectsName(project, location.project) &&
        selectsName(virtualCluster, location.virtualCluster),
    ) ||
    (location.target !== "Management" &&
      clusters.some((cluster) => selectsName(cluster, location.cluster)))
  );
}

function ruleCovers(rule: ScopeRule, request: ScopedRequest): boolean {
  if (!isAnyOf(rule.verbs, request.verb) || !isAnyOf(rule.requestTargets, request.target))
    return false;
  if (rule.cluster !== "" && !(request.target === "Cluster" && request.cluster === rule.cluster))
    return false;
  if (
    rule.virtualClusters.length > 0 &&
    !rule.virtualClusters.some((entry) => isVirtualCluster(entry, request))
  )
    return false;
  return request.kind === "resource"
    ? ruleCoversResource(rule, request)
    : ruleCoversPath(rule, request.path);
}

function isVirtualCluster(
  { name, namespace }: ScopeRule["virtualClusters"][number],
  location: RequestLocation,
): boolean {
  if (location.target !== "ProjectVirtualCluster") return false;
  return (
    (name === "" || name === location.virtualCluster) &&
    (namespace === "" || namespace === location.virtualClusterNamespace)
  );
}

/**
 * Whether a rule covers the resource of a request. As in audit policy, a rule that lists only paths
 * covers no resources, and a rule that lists only resources covers no paths.
 */
function ruleCoversResource(rule: ScopeRule, request: ResourceRequest): boolean {
  if (rule.nonResourceURLs.length > 0 && !listsResources(rule)) return false;
  if (rule.resources.length > 0 && !rule.resources.some((entry) => coversResource(entry, request)))
    return false;
  // The specification requires resources with names: names without resources, which admission
  // rejects, cover nothing.
  if (
    rule.resourceNames.length > 0 &&
    (rule.resources.length === 0 || !rule.resourceNames.includes(request.name))
  )
    return false;
  return (
    rule.namespaces.length === 0 ||
    rule.namespaces.some((namespace) => coversNamespace(namespace, request))
  );
}

/**
 * Whether a namespace entry covers a request; the empty string covers cluster-scoped resources
 * (specification, rules entry). A request for all namespaces has no namespace, either, but its
 * resource is namespaced.
 */
function coversNamespace(namespace: string, request: ResourceRequest): boolean {
  return namespace === "" ? request.resourceScope === "Cluster" : namespace === request.namespace;
}

function ruleCoversPath(rule: ScopeRule, path: string): boolean {
  if (rule.nonResourceURLs.length > 0)
    return rule.nonResourceURLs.some((pattern) => coversPath(pattern, path));
  return !listsResources(rule);
}

function isAnyOf(listed: readonly string[], value: string): boolean {
  return listed.length === 0 || listed.includes(value);
}
