import type { ReviewedRequest } from "../api/access-review.ts";
import { extras } from "../api/names.ts";
import {
  notDiscovered,
  scopedRequest,
  type ScopedRequestDeps,
  revocationOf,
  withLabels,
} from "../authn/authorize-request.ts";
import { oneLocation, type RequestLocations } from "../authn/request-locations.ts";
import { authorizeWithToken, listUnknown } from "../domain/endpoint-token/token-authorization.ts";
import { unauthorized } from "../domain/gateway/refusal.ts";
import type { ScopedRequest } from "../domain/scope/scoped-request.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import type { IssuerKeys } from "../published/issuer-keys.ts";
import type { IssuerRoles } from "../published/issuer-roles.ts";
import type { RevokedTokens } from "../published/revoked-tokens.ts";
import { BoundedWaits } from "../runtime/bounded-waits.ts";
import type { PassiveClock } from "../runtime/clock.ts";
import { networkOf } from "../runtime/peer.ts";
import { tokenProblems, type VerifiedToken } from "../tokens/direct-token.ts";
import type { VerifiedTokens } from "../tokens/verified-tokens.ts";
import { type Authenticator, type Credential, type Decision, notReady } from "./credential.ts";
import { type Destination, locationsAt, nothingServed } from "./upstreams.ts";

/** Prefixes of the names of other clusters' users and groups. */
export interface NamePrefixes {
  readonly user: string;
  readonly groups: string;
}

/** The result of authenticating a direct token; a closed set for metrics. */
export const tokenResults = ["authenticated", ...tokenProblems, "revoked"] as const;

/** One of these results. */
type TokenResult = (typeof tokenResults)[number];

/** What decides about direct tokens. */
interface TokenAuthenticatorDeps {
  readonly tokens: Pick<VerifiedTokens, "verify">;
  readonly keys: Pick<IssuerKeys, "has" | "refresh" | "problems">;
  readonly revoked: Pick<RevokedTokens, "has" | "isKnown">;
  readonly roles: Pick<IssuerRoles, "current">;
  readonly clock: PassiveClock;
  readonly prefixes: NamePrefixes;
  readonly namespace: string;
  readonly onResult: (result: TokenResult) => void;
}

/** Anybody can make a token with an unknown kid, and an issuer may take 10 s to answer. */
export const mostWaiting = 1_000;

/** Authenticates direct tokens by the keys of their issuer and its list of revoked tokens. */
export function tokenAuthenticator(deps: TokenAuthenticatorDeps): Authenticator {
  const { tokens, keys, revoked, clock, onResult } = deps;
  const refreshes = new BoundedWaits(mostWaiting);
  /** Waits for the keys of now; false if there are no other ones, true at once if it is let go. */
  const refresh = async (peerAddress: string): Promise<boolean> => {
    const letGo = Promise.withResolvers<true>();
    const leave = refreshes.begin(networkOf(peerAddress), () => letGo.resolve(true));
    try {
      return await Promise.race([keys.refresh(), letGo.promise]);
    } finally {
      leave();
    }
  };
  return {
    async authenticate(presented, peerAddress = "") {
      const [problem] = keys.problems();
      if (problem !== undefined)
        return notReady("the signing keys of the issuer are not known yet");
      if (!revoked.isKnown()) return notReady(listUnknown);
      let result = await tokens.verify(presented, clock.now());
      // A token of a new signing key may arrive before the key was fetched.
      if (!result.ok && result.reason === "unknown-kid" && (await refresh(peerAddress)))
        result = await tokens.verify(presented, clock.now());
      if (!result.ok) {
        onResult(result.reason);
        return unauthorized;
      }
      const isRevoked = revoked.has(result.token.jti);
      onResult(isRevoked ? "revoked" : "authenticated");
      return isRevoked ? unauthorized : tokenCredential(result.token, result.kid, deps);
    },
  };
}

function tokenCredential(
  token: VerifiedToken,
  kid: string,
  deps: TokenAuthenticatorDeps,
): Credential {
  const { prefixes } = deps;
  const ended = (): Decision | undefined => {
    const reason = endReason({ token, kid }, deps);
    return reason === undefined ? undefined : { kind: "denied", reason };
  };
  const username = prefixes.user + token.sub;
  return {
    kind: "credential",
    id: token.jti,
    sharedAs: username,
    noun: "a direct token",
    isScoped: token.scopes.length > 0,
    isValid: () => ended() === undefined,
    user: {
      username,
      groups: token.groups.map((name) => prefixes.groups + name),
      extra: { [extras.credentialId]: [token.jti] },
    },
    async authorize(request, destination, left) {
      try {
        await locationsOf(destination).decided(token.scopes, left);
        const scoped = await scoping(request, destination, {
          isScoped: token.scopes.length > 0,
          left,
        });
        // The token may have been revoked while discovery was read.
        return ended() ?? judge(token, scoped, { deps, destination });
      } catch (error) {
        if (!isKubeError(error)) throw error;
        return notDiscovered(error);
      }
    },
    authorizeNow(request, destination) {
      const denied = ended();
      if (denied !== undefined) return denied;
      const scoped = scoping(request, destination, { isScoped: false });
      return scoped instanceof Promise
        ? notDiscovered()
        : judge(token, scoped, { deps, destination });
    },
    endsAt: () => token.expiresAt,
  };
}

/** Why the token is no longer accepted, by what is known now. */
function endReason(
  { token, kid }: { readonly token: VerifiedToken; readonly kid: string },
  { clock, keys, revoked }: Pick<TokenAuthenticatorDeps, "clock" | "keys" | "revoked">,
): string | undefined {
  if (clock.now() >= token.expiresAt) return "the token has expired";
  if (!keys.has(kid)) return "the key that signed the token was removed";
  return revoked.has(token.jti) ? "the token was revoked" : undefined;
}

const elsewhere = oneLocation({ target: "Cluster", cluster: "" });

function locationsOf(destination: Destination): RequestLocations {
  return locationsAt(destination) ?? elsewhere;
}

function scoping(
  request: ReviewedRequest,
  destination: Destination,
  wait: Pick<ScopedRequestDeps, "isScoped" | "left">,
): ScopedRequest | Promise<ScopedRequest> {
  const locations = locationsOf(destination);
  return scopedRequest(request, {
    locationOf: (namespace) => locations.locationOf(namespace),
    discovery: destination.server?.discovery ?? nothingServed,
    ...wait,
  });
}

function judge(
  { jti, scopes }: VerifiedToken,
  request: ScopedRequest,
  {
    deps: { namespace: ownNamespace, revoked, roles },
    destination,
  }: { readonly deps: TokenAuthenticatorDeps; readonly destination: Destination },
): Decision {
  const verdict = authorizeWithToken(
    { scopes, revocation: revocationOf(jti, revoked) },
    { request, roles: roles.current(), ownNamespace },
  );
  return withLabels(verdict, scopes, locationsOf(destination));
}
