import { compactVerify, errors } from "jose";
import { excessIn, hasMemberTwice } from "../api/bounded-json.ts";
import { readingBounds } from "../api/reading-bounds.ts";
import { isRecord, ownValue, stringAt } from "../api/parse.ts";
import { SecretText } from "../api/secret-text.ts";
import type { Claims } from "../domain/oidc/claim-rules.ts";
import { hashName } from "../domain/hash-name.ts";
import { bytesIn } from "./es256-key.ts";
import { type OidcAlgorithm, oidcAlgorithms, type OidcKey } from "./oidc-keys.ts";
import { strictJson } from "./strict-json.ts";

/** Why the form of a token refuses it; a closed set for metrics. */
type FormProblem = "oversized" | "malformed" | "algorithm" | "type" | "header";

/** A token whose signature nobody has verified yet: it says what it likes. */
export interface UnverifiedToken {
  readonly kind: "unverified";
  readonly kid: string;
  readonly algorithm: OidcAlgorithm;
  readonly issuer: string;
  readonly claims: Claims;
}

/** Why a token is none; never a part of it. */
interface MalformedToken {
  readonly kind: "refused";
  readonly reason: FormProblem;
}

const bounds = readingBounds.foreignToken;
const longestHeader = 2 * 1024;

/** Three parts in base64url without padding (RFC 7515, section 7.1). */
const form = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Types of a JWT that is a credential; absent in those of Kubernetes, JOSE in some of SPIFFE. */
const types: readonly unknown[] = [undefined, "JWT", "jwt", "JOSE"];

/** Whether a text can be such a token at all; a key that somebody chose may have its form. */
export function isTokenForm(text: SecretText): boolean {
  return text.length <= bounds.bytes && form.test(SecretText.reveal(text));
}

/**
 * Reads a token (JWS compact serialization, RFC 7515) strictly: one algorithm of the list, a kid,
 * an issuer, no extension that must be understood, and no member twice. Keys that its header has or
 * names are not looked at.
 */
export function readOidcToken(token: SecretText): UnverifiedToken | MalformedToken {
  if (token.length > bounds.bytes) return refused("oversized");
  const text = SecretText.reveal(token);
  if (!form.test(text)) return refused("malformed");
  const [encodedHeader = "", encodedClaims = ""] = text.split(".");
  if (encodedHeader.length > longestHeader) return refused("oversized");
  const [header, claims] = [objectIn(encodedHeader), objectIn(encodedClaims)];
  if (header === undefined || claims === undefined) return refused("malformed");
  const algorithm = oidcAlgorithms.find((one) => one === ownValue(header, "alg"));
  if (algorithm === undefined) return refused("algorithm");
  if (!types.includes(ownValue(header, "typ"))) return refused("type");
  const [kid, issuer] = [stringAt(header, "kid") ?? "", stringAt(claims, "iss") ?? ""];
  const isExtended = Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64");
  if (kid === "" || issuer === "" || isExtended) return refused("header");
  return { kind: "unverified", kid, algorithm, issuer, claims };
}

/** Whether a key signed a token of this algorithm. */
export async function isSignedBy(
  token: SecretText,
  { algorithm }: Pick<UnverifiedToken, "algorithm">,
  { publicKey, algorithms }: OidcKey,
): Promise<boolean> {
  if (!algorithms.includes(algorithm)) return false;
  try {
    await compactVerify(SecretText.reveal(token), publicKey, { algorithms: [algorithm] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}

/**
 * What a token is called in the audit log: a hash of its `jti` (RFC 7519, section 4.1.7), which
 * other systems log too, or of the token where it has none.
 */
export function tokenId(token: SecretText, { issuer, claims }: UnverifiedToken): string {
  return hashName([issuer, stringAt(claims, "jti") ?? SecretText.reveal(token)], 32);
}

/** The JSON object in base64url, within bounds. */
function objectIn(encoded: string): Claims | undefined {
  const bytes = bytesIn(encoded);
  if (bytes === undefined) return undefined;
  const text = bytes.toString("utf8");
  if (excessIn(text, bounds) !== undefined) return undefined;
  const value = strictJson(bytes);
  return isRecord(value) && !hasMemberTwice(text) ? value : undefined;
}

function refused(reason: MalformedToken["reason"]): MalformedToken {
  return { kind: "refused", reason };
}
