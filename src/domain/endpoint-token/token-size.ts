import type { TokenClaims } from "./token-claims.ts";

/** Characters of the longest token; a direct endpoint refuses a longer one before it reads it. */
export const longestToken = 8 * 1024;

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
