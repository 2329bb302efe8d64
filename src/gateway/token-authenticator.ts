import type { ReviewedRequest } from "../api/access-review.ts";
import { scopedRequest } from "../authn/scoped-request.ts";
import { unauthorized } from "../domain/gateway/refusal.ts";
import { upstreamLocation } from "../domain/gateway/connected-cluster.ts";
import { allows } from "../domain/scope/allows.ts";
import type { RequestLocation, ScopedRequest } from "../domain/scope/request.ts";
import type { ScopeRoles } from "../domain/scope/roles.ts";
import { isKubeError } from "../kube/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import type { VerifiedTokens } from "../tokens/verified-tokens.ts";
import type { TokenProblem, VerifiedToken } from "../tokens/verify.ts";
import {
  type Authenticator,
  type Credential,
  type Decision,
  type Destination,
  notReady,
} from "./credential.ts";
import type { IssuerKeys } from "./issuer-keys.ts";

/** Prefixes of the names of other clusters' users and groups. */
export interface NamePrefixes {
  readonly user: string;
  readonly groups: string;
}

/** What decides about direct tokens. */
export interface TokenAuthenticatorDeps {
  readonly tokens: Pick<VerifiedTokens, "verify">;
  readonly keys: Pick<IssuerKeys, "has" | "refresh" | "problems">;
  /** Whether the roles of scopes are current. */
  readonly isFresh: () => boolean;
  readonly roles: () => ScopeRoles;
  readonly clock: Pick<Clock, "now">;
  readonly prefixes: NamePrefixes;
  readonly namespace: string;
  readonly onResult: (result: "authenticated" | TokenProblem) => void;
}

/** Authenticates direct tokens by the keys of their issuer. */
export function tokenAuthenticator(deps: TokenAuthenticatorDeps): Authenticator {
  const { tokens, keys, clock, onResult } = deps;
  return {
    async authenticate(presented) {
      const [problem] = keys.problems();
      if (problem !== undefined)
        return notReady("the signing keys of the issuer are not known yet");
      let result = await tokens.verify(presented, clock.now());
      // A token of a new signing key may arrive before the key was fetched.
      if (!result.ok && result.reason === "unknown-kid" && (await keys.refresh()))
        result = await tokens.verify(presented, clock.now());
      onResult(result.ok ? "authenticated" : result.reason);
      return result.ok ? tokenCredential(result.token, result.kid, deps) : unauthorized;
    },
  };
}

function tokenCredential(
  token: VerifiedToken,
  kid: string,
  deps: TokenAuthenticatorDeps,
): Credential {
  const { clock, keys, prefixes } = deps;
  const isValid = (): boolean => clock.now() < token.expiresAt && keys.has(kid);
  return {
    ...{ kind: "credential", id: token.jti, noun: "a direct token", isValid },
    user: {
      username: prefixes.user + token.sub,
      groups: token.groups.map((name) => prefixes.groups + name),
      extra: {},
    },
    async authorize(request, destination) {
      try {
        const scoped = scoping(request, destination, token.scopes.length > 0);
        return judge(token, await scoped, deps);
      } catch (error) {
        if (!isKubeError(error)) throw error;
        return { kind: "not-ready", reason: "API discovery failed; retry" };
      }
    },
    authorizeNow(request, destination) {
      if (!isValid())
        return { kind: "denied", reason: "the token has expired, or its signing key was removed" };
      const scoped = scoping(request, destination, false);
      return scoped instanceof Promise
        ? { kind: "not-ready", reason: "API discovery failed; retry" }
        : judge(token, scoped, deps);
    },
    endsAt: () => token.expiresAt,
  };
}

const elsewhere: RequestLocation = { target: "Cluster", cluster: "" };

function scoping(
  request: ReviewedRequest,
  { upstream, server }: Destination,
  isScoped: boolean,
): ScopedRequest | Promise<ScopedRequest> {
  const location = upstreamLocation(upstream) ?? elsewhere;
  return scopedRequest(request, {
    accessKeys: { locationOf: () => location },
    discovery: server?.discovery ?? { known: () => undefined, find: async () => "Unknown" },
    isScoped,
  });
}

function judge(
  { scopes }: VerifiedToken,
  request: ScopedRequest,
  { isFresh, roles, namespace }: TokenAuthenticatorDeps,
): Decision {
  if (scopes.length === 0) return { kind: "no-opinion" };
  if (!isFresh()) return { kind: "not-ready", reason: "roles of scopes not synced; retry" };
  const context = { roles: roles(), ownNamespace: namespace };
  const verdicts = scopes.map((scope) => allows(scope, request, context));
  return verdicts.find((verdict) => verdict.kind === "denied") ?? { kind: "no-opinion" };
}
