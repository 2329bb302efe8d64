import { compactVerify, errors } from "jose";
import { isRecord, ownValue, stringAt } from "../api/parse.ts";
import { bytesIn, type VerificationKey } from "./es256-key.ts";
import { strictJson } from "./strict-json.ts";

/** The keys that may have signed a text, by kid. */
export type VerificationKeys = ReadonlyMap<string, VerificationKey>;

/** Why a signed text is refused; a closed set for metrics. */
export const jwsProblems = [
  "oversized",
  "malformed",
  "algorithm",
  "type",
  "header",
  "unknown-kid",
  "signature",
] as const;

/** One of these problems. */
type JwsProblem = (typeof jwsProblems)[number];

/** What a signed text has to be. */
interface JwsOptions {
  readonly keys: VerificationKeys;
  /** The header `typ`, exactly. */
  readonly typ: string;
  readonly mostCharacters: number;
}

/** The payload of a verified text, or why the text is refused; never a part of a refused text. */
type VerifiedJws =
  | {
      readonly ok: true;
      readonly kid: string;
      readonly payload: Readonly<Record<string, unknown>>;
    }
  | { readonly ok: false; readonly reason: JwsProblem };

interface JwsHeader {
  readonly kid: string;
  readonly key: VerificationKey;
}

/** Three parts in base64url without padding. */
const form = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

const members: ReadonlySet<string> = new Set(["alg", "typ", "kid"]);

/**
 * Verifies a text that Latchkey signed (JWS compact serialization, RFC 7515 section 7.1) with
 * ES256. The header has exactly alg, typ and kid: jwk, jku, x5u, x5c, x5t, crit and b64 are refused
 * like any other member. Header and payload have to be as JSON.stringify writes them, as in each
 * text that Latchkey signs: no member appears twice and no number is out of range.
 */
export async function verifyJws(text: string, options: JwsOptions): Promise<VerifiedJws> {
  if (text.length > options.mostCharacters) return refused("oversized");
  if (!form.test(text)) return refused("malformed");
  const [header = "", payload = ""] = text.split(".");
  const found = headerOf(header, options);
  if (typeof found === "string") return refused(found);
  if (!(await isSignedWith(text, found.key))) return refused("signature");
  const claims = objectIn(payload);
  return claims === undefined
    ? refused("malformed")
    : { ok: true, kid: found.kid, payload: claims };
}

/**
 * Whether the key signed the text with ES256. A signature is the two numbers r and s of 32 bytes
 * (RFC 7518 section 3.4), neither of which is 0.
 */
export async function isSignedWith(text: string, { publicKey }: VerificationKey): Promise<boolean> {
  const signature = bytesIn(text.slice(text.lastIndexOf(".") + 1));
  if (signature?.length !== 64 || !hasNumbers(signature)) return false;
  try {
    await compactVerify(text, publicKey, { algorithms: ["ES256"] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}

/** OpenSSL refuses zeros as well; a runtime that did not was CVE-2022-21449. */
function hasNumbers(signature: Buffer): boolean {
  const isZero = (half: Buffer): boolean => half.every((byte) => byte === 0);
  return !isZero(signature.subarray(0, 32)) && !isZero(signature.subarray(32));
}

/** Four times the header that Latchkey writes: it is read as JSON before the signature counts. */
const longestHeader = 512;

function headerOf(encoded: string, { keys, typ }: JwsOptions): JwsHeader | JwsProblem {
  if (encoded.length > longestHeader) return "malformed";
  const header = objectIn(encoded);
  if (header === undefined) return "malformed";
  if (ownValue(header, "alg") !== "ES256") return "algorithm";
  if (ownValue(header, "typ") !== typ) return "type";
  const kid = stringAt(header, "kid");
  if (kid === undefined || Object.keys(header).some((name) => !members.has(name))) return "header";
  const key = keys.get(kid);
  return key === undefined ? "unknown-kid" : { kid, key };
}

/** The JSON object in base64url, if its text is what JSON.stringify writes for it. */
function objectIn(encoded: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = bytesIn(encoded);
  const value = bytes === undefined ? undefined : strictJson(bytes);
  return isRecord(value) && bytes?.equals(Buffer.from(canonicalText(value))) ? value : undefined;
}

/** An empty text for JSON that is nested too deep to be written. */
function canonicalText(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "";
  }
}

function refused(reason: JwsProblem): VerifiedJws {
  return { ok: false, reason };
}
