import { authenticate } from "./authenticate.ts";
import { type ResolvedKey, effectiveScopes } from "./key-state.ts";
import { keyTargetProblem } from "./key-target.ts";
import { allows } from "../scope/allows.ts";
import type { ScopedRequest } from "../scope/scoped-request.ts";
import type { ScopeRoles } from "../scope/scope-roles.ts";

/** The decision of the authorizer: it never allows, because RBAC decides that. */
export type KeyVerdict =
  | { readonly kind: "no-opinion" }
  | { readonly kind: "denied"; readonly by?: "scope"; readonly reason: string };

/** A request that was made with a key, and the roles to evaluate its scope. */
export interface KeyedRequest {
  readonly request: ScopedRequest;
  readonly roles: ScopeRoles;
}

/**
 * Authorizes a request against its key at `now`, in milliseconds since the epoch; the state of the
 * key at authentication does not count. `resolved` is undefined if the key was deleted.
 */
export function authorizeWithKey(
  resolved: ResolvedKey | undefined,
  { request, roles }: KeyedRequest,
  now: number,
): KeyVerdict {
  if (resolved === undefined) return denied("the access key of this request was deleted");
  const authentication = authenticate(resolved, now);
  if (authentication.kind === "refused")
    return denied(`the access key of this request is not valid (${authentication.reason})`);
  const context = { roles, ownNamespace: resolved.config.namespace };
  const verdicts = effectiveScopes(resolved).map((limit) => allows(limit, request, context));
  const outside = verdicts.find((verdict) => verdict.kind === "denied");
  if (outside !== undefined) return outside;
  const problem = keyTargetProblem(resolved, request);
  return problem === undefined ? { kind: "no-opinion" } : denied(problem);
}

function denied(reason: string): KeyVerdict {
  return { kind: "denied", reason };
}
