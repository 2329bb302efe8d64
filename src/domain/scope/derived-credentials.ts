import { group as ownGroup, outboxNamespacePrefix } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import { qualifiedResource } from "./patterns.ts";
import type { ResourceRequest, ScopedRequest } from "./scoped-request.ts";

/**
 * Requests with which a scoped key could obtain an unscoped credential, or change what its scope
 * covers.
 */
interface Escape {
  readonly group: string;
  /**
   * The resource and its subresources; with a trailing slash, only its subresources; `*`: every
   * resource of the group.
   */
  readonly resource: string;
  /** Verbs that cannot be used to escape; all others can. */
  readonly harmless: readonly string[];
}

const reading = ["get", "list", "watch"];

/** The kinds of credentials that users create. */
const requested: readonly string[] = [
  resources.ownedAccessKeys.plural,
  resources.endpointTokens.plural,
];

const escapes: readonly Escape[] = [
  // A client that reads a key or token can use it; a new one is limited at admission, but not in a
  // connected cluster with a Latchkey of its own, which does not know this credential.
  { group: ownGroup, resource: resources.ownedAccessKeys.plural, harmless: ["create"] },
  { group: ownGroup, resource: resources.endpointTokens.plural, harmless: ["create"] },
  { group: "", resource: "serviceaccounts/token", harmless: [] },
  { group: "", resource: "nodes/proxy", harmless: [] },
  // Kubernetes serves no subresource of Secrets; an unknown one may expose their data.
  { group: "", resource: "secrets/", harmless: [] },
  { group: "", resource: resources.namespaces.plural, harmless: reading },
  { group: "certificates.k8s.io", resource: "signers", harmless: [] },
  { group: "certificates.k8s.io", resource: "*", harmless: reading },
  { group: resources.roles.group, resource: "*", harmless: reading },
  { group: resources.validatingPolicies.group, resource: "*", harmless: reading },
  // An aggregated API server receives the requests of all users for its group, a conversion webhook
  // the objects of its kinds.
  { group: "apiregistration.k8s.io", resource: "*", harmless: reading },
  { group: "apiextensions.k8s.io", resource: "*", harmless: reading },
];

/**
 * Namespaces with cluster credentials, in addition to Latchkey's own and those with the outbox of a
 * cluster: those of connected clusters, and of the control plane.
 */
const guardedNamespaces = ["latchkey-clusters", "kube-system"];

/**
 * Whether requests in this namespace of the central cluster are only covered by a rule that lists
 * the namespace and the resource by name.
 */
export function isGuardedNamespace(namespace: string, ownNamespace: string): boolean {
  return (
    namespace !== "" &&
    (namespace === ownNamespace ||
      guardedNamespaces.includes(namespace) ||
      namespace.startsWith(outboxNamespacePrefix))
  );
}

/** The same for the namespace of a request, in the cluster that is asked. */
export function isInGuardedNamespace(
  { namespace, latchkeyNamespaces = new Set() }: ResourceRequest,
  ownNamespace: string,
): boolean {
  return (
    isGuardedNamespace(namespace, ownNamespace) ||
    (namespace !== "" && (latchkeyNamespaces === "unknown" || latchkeyNamespaces.has(namespace)))
  );
}

/**
 * Whether a request with one of these verbs (empty: any verb) for the rule resource `name` could
 * escape the scope. A wildcard in `name` only matches escapes that are a whole API group.
 */
export function couldEscape(group: string, name: string, verbs: readonly string[]): boolean {
  return escapes.some((escape) => {
    return (
      escape.group === group &&
      isMeant(escape, name) &&
      (verbs.length === 0 || verbs.some((verb) => !escape.harmless.includes(verb)))
    );
  });
}

function isMeant({ resource }: Escape, name: string): boolean {
  return (
    resource === "*" ||
    resource === name ||
    name.startsWith(resource.endsWith("/") ? resource : `${resource}/`)
  );
}

/** Whether a request could yield a credential, or a scope, beyond that of its own credential. */
export function isEscape(request: ResourceRequest): boolean {
  if (isImpersonation(request.verb)) return true;
  const isElsewhere = request.target === "Cluster" || request.target === "ProjectVirtualCluster";
  const isRequested = request.group === ownGroup && requested.includes(request.resource);
  if (isElsewhere && isRequested && request.verb === "create") return true;
  return couldEscape(request.group, qualifiedResource(request), [request.verb]);
}

/**
 * Why a wildcard of a rule does not cover a request, only the name of its resource; `several`: it
 * stands for requests of which some are protected, so that no entry covers all of them.
 */
export type Protection = "guarded" | "escape" | "secrets" | "several";

/** The protection of a request; undefined if it has none. `ownNamespace` is Latchkey's own. */
export function protectionOf(request: ScopedRequest, ownNamespace: string): Protection | undefined {
  if (request.kind === "path") return undefined;
  if (standsForProtected(request, ownNamespace)) return "several";
  if (isInGuardedNamespace(request, ownNamespace)) return "guarded";
  if (isEscape(request)) return "escape";
  return isSecrets(request.group, request.resource) ? "secrets" : undefined;
}

/** Verbs about all objects of a kind, which may be in all namespaces. */
const collecting = ["list", "watch", "deletecollection"];
/** Core resources that can be impersonated. */
const actors = ["users", "groups", "serviceaccounts"];

/**
 * Whether a request stands for several, some of which are protected: one of a
 * SelfSubjectAccessReview with `*`, or about any object of all namespaces. None over HTTP does.
 */
function standsForProtected(request: ResourceRequest, ownNamespace: string): boolean {
  const { verb, group, resource, subresource, name, namespace, resourceScope } = request;
  if (group === "*" || resource === "*") return true;
  if (subresource === "*" && hasProtectedSubresource(request, ownNamespace)) return true;
  const isActor = group === "authentication.k8s.io" || (group === "" && actors.includes(resource));
  if (verb === "*" && isActor) return true;
  if (collecting.includes(verb)) return false;
  return group === "" && resource === resources.namespaces.plural
    ? name === "" && verb !== "create"
    : resourceScope === "Namespaced" && namespace === "";
}

function hasProtectedSubresource(request: ResourceRequest, ownNamespace: string): boolean {
  const isBelow = ({ group, resource }: Escape): boolean =>
    group === request.group && resource.startsWith(`${request.resource}/`);
  return isEscape(request) || isInGuardedNamespace(request, ownNamespace) || escapes.some(isBelow);
}

/** Whether this is the core resource `secrets`. */
export function isSecrets(group: string, name: string): boolean {
  return group === resources.secrets.group && name === resources.secrets.plural;
}

/**
 * `impersonate`, and the constrained verbs of Kubernetes 1.35 and later such as
 * `impersonate:user-info`.
 */
export function isImpersonation(verb: string): boolean {
  return verb.startsWith("impersonate");
}
