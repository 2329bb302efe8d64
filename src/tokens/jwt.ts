import { SignJWT } from "jose";
import { SecretText } from "../api/secret-text.ts";
import type { MintedToken } from "../domain/endpoint-token/endpoint-token.ts";
import type { TokenClaims } from "../domain/endpoint-token/token-claims.ts";
import type { ObservedSigningKeys } from "./signing-keys.ts";

/** Signs a direct token (RFC 7519) with ES256 and the current signing key. */
export async function mintToken(
  claims: TokenClaims,
  { signing }: ObservedSigningKeys,
): Promise<MintedToken> {
  const header = { alg: "ES256", typ: "JWT", kid: signing.kid };
  const token = await new SignJWT({ ...claims, groups: [...claims.groups] })
    .setProtectedHeader(header)
    .sign(signing.privateKey);
  return { token: new SecretText(token), kid: signing.kid };
}
