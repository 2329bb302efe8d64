import type { EndpointToken } from "../api/endpoint-token.ts";
import { group } from "../api/names.ts";
import type { RequesterStamp } from "../api/requester.ts";
import { isSystemName } from "./requester.ts";

/** The private claim of a direct token; `scope` is JSON text, because claim mappings of kube-apiserver carry strings only. */
export interface ServiceClaim {
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

/** Who issues and who accepts, and when; milliseconds since the epoch. */
export interface TokenTerms {
  readonly issuer: string;
  readonly audience: string;
  readonly now: number;
  readonly endsAt: number;
}

/** The claims of a token for this requester. */
export function tokenClaims({ metadata, spec }: EndpointToken, requester: RequesterStamp, terms: TokenTerms): TokenClaims {
  const mintedAt = seconds(terms.now);
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
      ...(spec.scope === undefined ? {} : { scope: spec.scope }),
      ...(requester.keyId === undefined ? {} : { keyID: requester.keyId }),
      name: metadata.name,
    },
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
