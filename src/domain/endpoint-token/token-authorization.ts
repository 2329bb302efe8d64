import type { ScopeLimit } from "../../api/scope.ts";
import type { KeyVerdict } from "../access-key/key-authorization.ts";
import { allows } from "../scope/allows.ts";
import type { ScopedRequest } from "../scope/scoped-request.ts";
import type { ScopeRoles } from "../scope/scope-roles.ts";

/** Whether a token is revoked; unknown while no list is known, or none was confirmed in time. */
export type Revocation = "valid" | "revoked" | "unknown";

/** What decides about a direct token. */
interface TokenLimits {
  /** All of them must allow a request; an empty list does not restrict. */
  readonly scopes: readonly ScopeLimit[];
  readonly revocation: Revocation;
}

/** A request that was made with a direct token, and the context of its scopes. */
interface TokenRequest {
  readonly request: ScopedRequest;
  readonly roles: ScopeRoles;
  /** Latchkey's own namespace. */
  readonly ownNamespace: string;
}

/** The decision about a request with a direct token: it never allows, because RBAC decides that. */
export type TokenVerdict =
  | KeyVerdict
  /** What decides is not known yet. */
  | { readonly kind: "not-ready"; readonly reason: string };

/** Why nothing is decided while it is not known which tokens are revoked. */
export const listUnknown =
  "the list of revoked tokens is not known, or was not confirmed in time; retry";

/** Authorizes a request against its token, which the caller has verified. */
export function authorizeWithToken(
  { scopes, revocation }: TokenLimits,
  { request, roles, ownNamespace }: TokenRequest,
): TokenVerdict {
  if (revocation === "revoked") return { kind: "denied", reason: "the token was revoked" };
  if (revocation === "unknown") return { kind: "not-ready", reason: listUnknown };
  const verdicts = scopes.map((scope) => allows(scope, request, { roles, ownNamespace }));
  return verdicts.find((verdict) => verdict.kind === "denied") ?? { kind: "no-opinion" };
}
