import type { ReviewedRequest } from "../api/access-review.ts";
import type { ScopeLimit } from "../api/scope.ts";
import {
  authorizeWithToken,
  type Revocation,
  type TokenVerdict,
} from "../domain/endpoint-token/token-authorization.ts";
import type { RequestLocation } from "../domain/scope/request.ts";
import type { Discovery } from "../kube/discovery.ts";
import { isKubeError } from "../kube/errors.ts";
import { scopedRequest } from "./scoped-request.ts";

/** A direct token that somebody else has verified. */
export interface PresentedToken {
  readonly jti: string;
  readonly scopes: readonly ScopeLimit[];
}

/** What is known of the tokens that are revoked. */
interface RevokedTokens {
  has(jti: string): boolean;
  /** Whether it is known which tokens are revoked. */
  isKnown(): boolean;
}

/** What {@link authorizeToken} needs. */
export interface AuthorizeTokenDeps {
  readonly revoked: RevokedTokens;
  readonly discovery: Pick<Discovery, "known" | "find">;
  /** The location of every request. */
  readonly location: RequestLocation;
  /** Latchkey's own namespace. */
  readonly namespace: string;
}

/**
 * Authorizes a request by its direct token, by what is known when it returns. A resource that
 * discovery does not know yet waits for one refresh.
 */
export async function authorizeToken(
  { jti, scopes }: PresentedToken,
  reviewed: ReviewedRequest,
  { revoked, discovery, location, namespace: ownNamespace }: AuthorizeTokenDeps,
): Promise<TokenVerdict> {
  try {
    const request = await scopedRequest(reviewed, {
      accessKeys: { locationOf: () => location },
      discovery,
      isScoped: scopes.length > 0,
    });
    const revocation = revocationOf(jti, revoked);
    return authorizeWithToken({ scopes, revocation }, { request, ownNamespace });
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return { kind: "not-ready", reason: "API discovery failed; retry" };
  }
}

/** Whether the token with this jti is revoked, by what is known now. */
export function revocationOf(jti: string, revoked: RevokedTokens): Revocation {
  if (revoked.has(jti)) return "revoked";
  return revoked.isKnown() ? "valid" : "unknown";
}
