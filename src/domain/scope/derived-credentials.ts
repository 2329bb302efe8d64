import { group as ownGroup } from "../../api/names.ts";
import type { ScopeRule } from "../../api/scope.ts";
import { qualifiedResource } from "./patterns.ts";
import type { ResourceRequest } from "./request.ts";

/** Requests by which a limited key could come by an unlimited credential, or change what is in its scope. */
interface Escape {
  readonly group: string;
  /** `*` is every resource and subresource of the group. */
  readonly resources: readonly string[];
  /** Verbs that are harmless; all others are not. */
  readonly harmless: readonly string[];
}

const reading = ["get", "list", "watch"];

const escapes: readonly Escape[] = [
  // A key or token that is read is as good as one's own; what a created one may do is limited at admission.
  { group: ownGroup, resources: ["ownedaccesskeys", "ownedaccesskeys/status", "directclusterendpointtokens", "directclusterendpointtokens/status"], harmless: ["create"] },
  { group: "", resources: ["serviceaccounts/token", "nodes/proxy"], harmless: [] },
  { group: "", resources: ["namespaces", "namespaces/status", "namespaces/finalize"], harmless: reading },
  { group: "certificates.k8s.io", resources: ["signers"], harmless: [] },
  { group: "certificates.k8s.io", resources: ["*"], harmless: reading },
  { group: "rbac.authorization.k8s.io", resources: ["*"], harmless: reading },
  { group: "admissionregistration.k8s.io", resources: ["*"], harmless: reading },
  // An aggregated API server or a converting webhook sees the requests, credentials included, of everybody.
  { group: "apiregistration.k8s.io", resources: ["*"], harmless: reading },
];

/**
 * Whether a request with one of these verbs, none meaning all, for what a rule calls `name` could be an escape; wildcards name nothing
 * and open none.
 */
export function couldEscape(group: string, name: string, verbs: readonly string[]): boolean {
  return escapes.some((escape) => {
    const isMeant = escape.group === group && escape.resources.some((meant) => meant === "*" || meant === name);
    return isMeant && (verbs.length === 0 || verbs.some((verb) => !escape.harmless.includes(verb)));
  });
}

/** Whether a request could yield a credential, or a scope, beyond the one it is made with. */
export function isEscape(request: ResourceRequest): boolean {
  if (isImpersonation(request.verb)) return true;
  return couldEscape(request.group, qualifiedResource(request), [request.verb]);
}

/**
 * Whether a rule names the very resource of a request, and the very verb where that is to act as somebody else: only so is an
 * escape in scope. Wildcards and empty lists name nothing.
 */
export function namesEscape(rule: ScopeRule, request: ResourceRequest): boolean {
  const isNamed = rule.resources.some(({ group, resources }) => group === request.group && resources.includes(qualifiedResource(request)));
  return isNamed && (!isImpersonation(request.verb) || rule.verbs.includes(request.verb));
}

/** `impersonate`, and the constrained verbs of Kubernetes 1.35 and later such as `impersonate:user-info`. */
export function isImpersonation(verb: string): boolean {
  return verb.startsWith("impersonate");
}
