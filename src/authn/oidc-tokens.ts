import type { SecretText } from "../api/secret-text.ts";
import { authenticate, type UserInfo, withToken } from "../domain/access-key/authenticate.ts";
import type { ResolvedKey } from "../domain/access-key/key-state.ts";
import { claimMismatch } from "../domain/oidc/claim-rules.ts";
import { type IssuerEntry, missingClaim } from "../domain/oidc/issuer-entries.ts";
import { namedKey } from "../domain/oidc/named-key.ts";
import { tokenTimes } from "../domain/oidc/token-times.ts";
import type { Clock } from "../runtime/clock.ts";
import type { OidcKey } from "../tokens/oidc-keys.ts";
import {
  isSignedBy,
  isTokenForm,
  readOidcToken,
  tokenId,
  type UnverifiedToken,
} from "../tokens/oidc-token.ts";
import { RecentTokens } from "../tokens/recent-tokens.ts";
import type { FollowedKeySet } from "./followed-key-set.ts";

/** Why a token of an issuer is refused, for metrics; the client never gets it. */
export const tokenRefusals = [
  "audience",
  "several-names",
  "key",
  "no-times",
  "too-long",
  "not-yet",
  "expired",
  "kid",
  "signature",
  "issuer-claim",
  "claim",
] as const;

/** One of these reasons. */
export type TokenRefusal = (typeof tokenRefusals)[number];

/** A token that its key accepts. */
export interface AcceptedToken {
  /** When it ends, in milliseconds since the epoch. */
  readonly endsAt: number;
  /** Whether the key that has verified it still counts. */
  readonly isVerified: () => boolean;
}

/** Who presents a token, or why nobody is accepted. */
type TokenIdentity =
  | {
      readonly kind: "authenticated";
      readonly user: UserInfo;
      readonly resolved: ResolvedKey;
      readonly token: AcceptedToken;
    }
  | {
      readonly kind: "refused";
      readonly reason: TokenRefusal;
      /** Resolves when the keys of the issuer were read again, if they are being read. */
      readonly refreshed?: Promise<void>;
    }
  | { readonly kind: "not-ready"; readonly why: string };

/** The issuers whose tokens may be used as keys. */
interface FollowedIssuers {
  /** Whether it is known which issuers are configured. */
  isFresh(): boolean;
  /** The keys of the issuer with this URL, and its entry; undefined for an unknown one. */
  of(url: string): Pick<FollowedKeySet, "entry" | "current" | "refresh"> | undefined;
}

/** What {@link OidcTokens} needs. */
interface OidcTokensDeps {
  readonly issuers: FollowedIssuers;
  readonly accessKeys: { byName(name: string): ResolvedKey | undefined };
  readonly clock: Clock;
  readonly onRefused: (reason: TokenRefusal) => void;
}

/** A token that was verified. */
interface Verified {
  readonly token: UnverifiedToken;
  readonly key: OidcKey;
  readonly id: string;
}

/** Where a token is judged: the issuer of now, and the key that the token names. */
interface Judged {
  readonly entry: IssuerEntry;
  readonly resolved: ResolvedKey;
  readonly user: UserInfo;
  readonly endsAt: number;
}

type Refused = Extract<TokenIdentity, { kind: "refused" }>;

/**
 * Judges tokens of other issuers, which stand for the key that their audience names: what costs
 * least comes first, and the signature last. A token that was verified is not verified again while
 * the key of its issuer counts; everything else is judged each time.
 */
export class OidcTokens {
  readonly #deps: OidcTokensDeps;
  readonly #recent = new RecentTokens<Verified>();

  constructor(deps: OidcTokensDeps) {
    this.#deps = deps;
  }

  /**
   * Who presents a token; undefined if the text is no token of a known issuer, and perhaps a key.
   * For a kid that is unknown, the keys of the issuer are being read again when it returns.
   */
  identify(presented: SecretText): Promise<TokenIdentity | undefined> | undefined {
    return isTokenForm(presented) ? this.#identified(presented) : undefined;
  }

  async #identified(presented: SecretText): Promise<TokenIdentity | undefined> {
    const known = this.#recent.get(presented);
    const token = known?.token ?? readOidcToken(presented);
    if (token.kind === "refused") return undefined;
    const { issuers, clock } = this.#deps;
    const issuer = issuers.of(token.issuer);
    if (issuer === undefined) return undefined;
    if (!issuers.isFresh()) return { kind: "not-ready", why: "issuers not synced; retry" };
    const keys = issuer.current();
    if (keys === undefined) return { kind: "not-ready", why: "keys of the issuer not read; retry" };
    const judged = this.#judged(token, issuer.entry);
    if ("reason" in judged) return judged;
    const key = keys.get(token.kid);
    if (key === undefined) return { ...refused("kid"), refreshed: issuer.refresh() };
    if (known?.key !== key && !(await isSignedBy(presented, token, key)))
      return refused("signature");
    const verified = known?.key === key ? known : { token, key, id: tokenId(presented, token) };
    if (verified !== known)
      this.#recent.keep(presented, verified, { expiresAt: judged.endsAt, now: clock.now() });
    // The issuers, their keys and the access key may have changed meanwhile.
    const now = issuers.of(token.issuer);
    if (now?.entry !== issuer.entry || now.current()?.get(token.kid) !== key) return refused("kid");
    const again = this.#judged(token, issuer.entry);
    return "reason" in again ? again : this.#identity(verified, again);
  }

  /** Counts a token that is finally refused. */
  noteRefused(reason: TokenRefusal): void {
    this.#deps.onRefused(reason);
  }

  /** The key that a token names, if it lives and trusts the issuer. */
  #judged({ claims }: UnverifiedToken, entry: IssuerEntry): Judged | Refused {
    const named = namedKey(claims["aud"], entry.audiences);
    if (named.kind !== "key")
      return refused(named.kind === "several" ? "several-names" : "audience");
    const { accessKeys, clock } = this.#deps;
    const resolved = accessKeys.byName(named.name);
    const isTrusted = resolved?.tokens?.kind === "trusted" && resolved.tokens.issuer === entry;
    if (!isTrusted) return refused("key");
    const authentication = authenticate(resolved, clock.now());
    if (authentication.kind === "refused") return refused("key");
    const times = tokenTimes(claims, clock.now());
    if (times.kind === "refused") return refused(times.reason);
    return { entry, resolved, user: authentication.user, endsAt: times.endsAt };
  }

  #identity({ token, key, id }: Verified, judged: Judged): TokenIdentity {
    const { entry, resolved, endsAt } = judged;
    const rules = resolved.tokens?.kind === "trusted" ? resolved.tokens.rules : [];
    if (missingClaim(entry, token.claims) !== undefined) return refused("issuer-claim");
    if (claimMismatch(rules, token.claims) !== undefined) return refused("claim");
    const { issuers } = this.#deps;
    const isVerified = (): boolean =>
      issuers.isFresh() && issuers.of(entry.url)?.current()?.get(token.kid) === key;
    const user = withToken(judged.user, { id, endsAt });
    return { kind: "authenticated", user, resolved, token: { endsAt, isVerified } };
  }
}

function refused(reason: TokenRefusal): Refused {
  return { kind: "refused", reason };
}
