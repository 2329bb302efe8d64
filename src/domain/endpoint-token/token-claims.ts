import type { EndpointToken } from "../../api/endpoint-token.ts";
import { group } from "../../api/names.ts";
import type { RequesterAnnotations } from "../../api/requester.ts";
import { type Scope, writeScope } from "../../api/scope.ts";
import type { SecretText } from "../../api/secret-text.ts";
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

/** A signed token and the kid of its signing key. */
export interface SignedToken {
  readonly token: SecretText;
  readonly kid: string;
}

/** Issuer, audience, times (milliseconds since the epoch), and the scopes of parent keys. */
interface TokenClaimsOptions {
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
  options: TokenClaimsOptions,
): TokenClaims {
  const mintedAt = seconds(options.now);
  const scope = scopeText(spec, options.keyScopes);
  return {
    iss: options.issuer,
    sub: requester.name,
    aud: options.audience,
    iat: mintedAt,
    nbf: mintedAt,
    exp: seconds(options.endsAt),
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

/** Bytes of a signature with ES256 (RFC 7518, section 3.4). */
const signatureBytes = 64;

/** The length in characters of the JWT with these claims (RFC 7515, section 7.1). */
export function tokenLength(claims: TokenClaims, kid: string): number {
  const header = { alg: "ES256", typ: "JWT", kid };
  const parts = [jsonBytes(header), jsonBytes(claims), signatureBytes].map(base64urlLength);
  return parts.reduce((sum, length) => sum + length) + parts.length - 1;
}

function jsonBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Without padding. */
function base64urlLength(bytes: number): number {
  return Math.ceil((bytes * 4) / 3);
}
