import type { EndpointToken } from "../../api/endpoint-token.ts";
import { group } from "../../api/names.ts";
import type { RequesterAnnotations } from "../../api/requester.ts";
import { type Scope, writeScope } from "../../api/scope.ts";
import { isSystemName } from "../requester/requester.ts";

/** The private claim of a direct token. */
interface ServiceClaim {
  /**
   * JSON text, because claim mappings of kube-apiserver support only strings: a scope as in a spec,
   * or a list of scopes that must all allow a request (that of the token and those of its parent
   * keys).
   */
  readonly scope?: string;
  /** The uid of the access key that the request came with. */
  readonly keyID?: string;
  readonly name: string;
}

/** Claims of a direct token (RFC 7519 section 4.1); instants in seconds since the epoch. */
export interface TokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string;
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  readonly groups: readonly string[];
  readonly [group]: ServiceClaim;
}

/** Issuer, audience, times (milliseconds since the epoch), and the scopes of parent keys. */
interface TokenTerms {
  readonly issuer: string;
  readonly audience: string;
  readonly now: number;
  readonly endsAt: number;
  readonly keyScopes: readonly Scope[];
}

/** The claims of a token for this requester. */
export function tokenClaims(
  { metadata, spec }: EndpointToken,
  requester: RequesterAnnotations,
  terms: TokenTerms,
): TokenClaims {
  const mintedAt = seconds(terms.now);
  const scope = scopeText(spec, terms.keyScopes);
  return {
    iss: terms.issuer,
    sub: requester.name,
    aud: terms.audience,
    iat: mintedAt,
    nbf: mintedAt,
    exp: seconds(terms.endsAt),
    jti: metadata.uid,
    groups: requester.groups.filter((name) => !isSystemName(name)),
    [group]: {
      ...(scope === undefined ? {} : { scope }),
      ...(requester.keyId === undefined ? {} : { keyID: requester.keyId }),
      name: metadata.name,
    },
  };
}

/** The scopes that limit the token, as JSON text; undefined if none does. */
function scopeText(
  { scope }: EndpointToken["spec"],
  keyScopes: readonly Scope[],
): string | undefined {
  const texts = [
    ...(scope === undefined ? [] : [scope]),
    ...new Set(keyScopes.map((wider) => JSON.stringify(writeScope(wider)))),
  ];
  return texts.length > 1 ? `[${texts.join(",")}]` : texts[0];
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
