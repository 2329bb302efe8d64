import type { ReviewedRequest } from "../api/access-review.ts";
import type { Metadata } from "../api/object.ts";
import {
  authorizeKey,
  authorizeNow,
  type AuthorizeKeyDeps,
  type KeyDecision,
  withLabels,
} from "../authn/authorize-request.ts";
import { identifyKey, type IdentifyKeyDeps } from "../authn/identify-key.ts";
import type { AcceptedToken } from "../authn/oidc-tokens.ts";
import { authenticate, type UserInfo } from "../domain/access-key/authenticate.ts";
import { identityOf } from "../domain/access-key/key-identity.ts";
import { personOf } from "../domain/access-key/key-person.ts";
import {
  effectiveScopes,
  isScoped,
  keyEndsAt,
  type ResolvedKey,
} from "../domain/access-key/key-state.ts";
import { trustsSame } from "../domain/oidc/trusted-tokens.ts";
import type { KeyEnd } from "../domain/gateway/key-end.ts";
import { unauthorized } from "../domain/gateway/refusal.ts";
import { spaceProblem } from "../domain/gateway/space-problem.ts";
import type { Leaving } from "../runtime/clock.ts";
import { type Authenticator, type Credential, type Decision, notReady } from "./credential.ts";
import { authorizeDeps, type Destination, locationsAt } from "./upstreams.ts";

/** What decides about access keys. */
interface KeyAuthenticatorDeps extends IdentifyKeyDeps, Omit<AuthorizeKeyDeps, "discovery"> {
  readonly accessKeys: IdentifyKeyDeps["accessKeys"] & AuthorizeKeyDeps["accessKeys"];
  /** Ends a key with the right of the gateway; resolves with the object as it is then. */
  readonly endKey: (key: Metadata, by: KeyEnd) => Promise<unknown>;
}

/** Authenticates access keys, by their objects. */
export function keyAuthenticator(deps: KeyAuthenticatorDeps): Authenticator {
  return {
    async authenticate(token, peerAddress) {
      const identification = await identifyKey({ token, peerAddress }, deps);
      if (identification.kind === "not-ready") return notReady(identification.why);
      // The time of the answer must not tell a key that was valid from one that never was.
      if (identification.kind === "refused")
        await deps.unknownKeyRetries.wait(peerAddress, deps.clock);
      if (identification.kind !== "authenticated") return unauthorized;
      return new KeyCredential(identification, deps);
    },
  };
}

interface Presented {
  readonly user: UserInfo;
  readonly resolved: ResolvedKey;
  readonly token?: AcceptedToken;
}

class KeyCredential implements Credential {
  readonly kind = "credential";
  readonly noun = "an access key";
  readonly id: string;
  readonly user: UserInfo;
  readonly sharedAs: string;
  readonly isScoped: boolean;
  readonly ownKey: NonNullable<Credential["ownKey"]>;
  readonly #presented: Presented;
  readonly #deps: KeyAuthenticatorDeps;

  constructor(presented: Presented, deps: KeyAuthenticatorDeps) {
    [this.#presented, this.#deps] = [presented, deps];
    const { user, resolved } = presented;
    const { metadata } = resolved.key;
    [this.id, this.user] = [metadata.uid, user];
    this.sharedAs = personOf(resolved, user.username);
    this.isScoped = isScoped(resolved);
    const { name, uid } = metadata;
    this.ownKey = { name, uid, end: (by) => deps.endKey(metadata, by) };
  }

  async authorize(
    request: ReviewedRequest,
    destination: Destination,
    left?: Leaving,
  ): Promise<Decision> {
    const deps = this.#deps;
    const locations = locationsAt(destination);
    await locations?.decided(effectiveScopes(this.#presented.resolved), left);
    const authorizing = { ...authorizeDeps(deps, destination.server, locations), left };
    const decision = await authorizeKey(this.id, request, authorizing);
    return within(decision, request, { deps, destination });
  }

  authorizeNow(request: ReviewedRequest, destination: Destination): Decision {
    if (!isSameCredential(this.#presented, this.#current))
      return { kind: "denied", reason: "the key was replaced, or acts as another user" };
    const deps = this.#deps;
    const authorizing = authorizeDeps(deps, destination.server, locationsAt(destination));
    const decision = authorizeNow(this.id, request, authorizing);
    return within(decision, request, { deps, destination });
  }

  isValid(): boolean {
    const now = this.#current;
    const at = this.#deps.clock.now();
    const { token } = this.#presented;
    const isAccepted = now !== undefined && authenticate(now, at).kind === "authenticated";
    const isVerified = token === undefined || (token.endsAt > at && token.isVerified());
    return isAccepted && isVerified && isSameCredential(this.#presented, now);
  }

  endsAt(): number {
    const now = this.#current;
    const tokenEndsAt = this.#presented.token?.endsAt ?? Infinity;
    return Math.min(tokenEndsAt, now === undefined ? Infinity : keyEndsAt(now));
  }

  get #current(): ResolvedKey | undefined {
    return this.#deps.accessKeys.byId(this.id);
  }
}

/** Whether the object has the key that was presented, and acts as the user that was sent. */
function isSameCredential({ user, resolved }: Presented, now: ResolvedKey | undefined): boolean {
  if (now === resolved || now === undefined) return true;
  if (now.key.keyDigest !== resolved.key.keyDigest) return false;
  if (!trustsSame(now.tokens, resolved.tokens)) return false;
  const identity = identityOf(now.key.spec, now.config.prefixes);
  return (
    identity.kind !== "invalid" &&
    identity.username === user.username &&
    identity.groups.length === user.groups.length &&
    identity.groups.every((group, at) => group === user.groups[at])
  );
}

/** Below a space, only its namespaces are there; in a cluster, labels may not count. */
function within(
  decision: KeyDecision,
  request: ReviewedRequest,
  {
    deps: { accessKeys },
    destination,
  }: { readonly deps: KeyAuthenticatorDeps; readonly destination: Destination },
): Decision {
  const { resolved } = decision;
  const locations = locationsAt(destination);
  if (decision.kind === "denied" && resolved !== undefined && locations !== undefined)
    return withLabels(decision, effectiveScopes(resolved), locations);
  const { upstream } = destination;
  if (decision.kind !== "no-opinion" || upstream.kind !== "space") return decision;
  const reason = spaceProblem(request, upstream, (namespace) => accessKeys.locationOf(namespace));
  return reason === undefined ? decision : { kind: "denied", reason };
}
