import { group as ownGroup } from "../../api/names.ts";
import type { ScopeRule } from "../../api/scope.ts";
import { qualifiedResource } from "./patterns.ts";
import type { ResourceRequest } from "./request.ts";

/**
 * Requests by which a limited key could come by an unlimited credential, or change what is in its
 * scope.
 */
interface Escape {
  readonly group: string;
  /**
   * The resource and what is below it, or with a slash at its end only that; `*` is every resource
   * of the group.
   */
  readonly resource: string;
  /** Verbs that are harmless; all others are not. */
  readonly harmless: readonly string[];
}

const reading = ["get", "list", "watch"];

const escapes: readonly Escape[] = [
  // A key or token that is read is as good as one's own; what a created one may do is limited at
  // admission.
  { group: ownGroup, resource: "ownedaccesskeys", harmless: ["create"] },
  { group: ownGroup, resource: "directclusterendpointtokens", harmless: ["create"] },
  { group: "", resource: "serviceaccounts/token", harmless: [] },
  { group: "", resource: "nodes/proxy", harmless: [] },
  // Kubernetes has none: whatever it is, it shows Secrets.
  { group: "", resource: "secrets/", harmless: [] },
  { group: "", resource: "namespaces", harmless: reading },
  { group: "certificates.k8s.io", resource: "signers", harmless: [] },
  { group: "certificates.k8s.io", resource: "*", harmless: reading },
  { group: "rbac.authorization.k8s.io", resource: "*", harmless: reading },
  { group: "admissionregistration.k8s.io", resource: "*", harmless: reading },
  // An aggregated API server or a converting webhook sees the requests, credentials included, of
  // everybody.
  { group: "apiregistration.k8s.io", resource: "*", harmless: reading },
  { group: "apiextensions.k8s.io", resource: "*", harmless: reading },
];

/**
 * Namespaces with credentials of the cluster, in addition to Latchkey's own: connected clusters,
 * and the control plane.
 */
const guardedNamespaces = ["latchkey-clusters", "kube-system"];

/**
 * Whether only a rule that lists this namespace and the resource by name covers a request in it.
 */
export function isGuardedNamespace(namespace: string, ownNamespace: string): boolean {
  return namespace !== "" && (namespace === ownNamespace || guardedNamespaces.includes(namespace));
}

/**
 * Whether a request with one of these verbs, none meaning all, for what a rule calls `name` could
 * be an escape; wildcards name nothing and open none.
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

/** Whether a request could yield a credential, or a scope, beyond the one it is made with. */
export function isEscape(request: ResourceRequest): boolean {
  if (isImpersonation(request.verb)) return true;
  return couldEscape(request.group, qualifiedResource(request), [request.verb]);
}

/** Whether a rule means core Secrets by this name. */
export function isSecrets(group: string, name: string): boolean {
  return group === "" && name === "secrets";
}

/**
 * Whether a rule names the resource of a request, and the verb if it is impersonation. Wildcards
 * and empty lists do not count.
 */
export function namesRequest(rule: ScopeRule, request: ResourceRequest): boolean {
  const isNamed = rule.resources.some(
    ({ group, resources }) =>
      group === request.group && resources.includes(qualifiedResource(request)),
  );
  return isNamed && (!isImpersonation(request.verb) || rule.verbs.includes(request.verb));
}

/**
 * `impersonate`, and the constrained verbs of Kubernetes 1.35 and later such as
 * `impersonate:user-info`.
 */
export function isImpersonation(verb: string): boolean {
  return verb.startsWith("impersonate");
}
