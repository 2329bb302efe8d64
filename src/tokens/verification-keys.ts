import { isRecord, listAt, ownValue, stringAt } from "../api/parse.ts";
import { readingBounds } from "../api/reading-bounds.ts";
import type { VerificationKeys } from "./compact-jws.ts";
import { es256PublicKeyOf, type VerificationKey } from "./es256-key.ts";
import { strictJson } from "./strict-json.ts";

/** Why a JWK Set is refused; a closed set for metrics. */
const keySetProblems = [
  "oversized",
  "malformed",
  "too-many-keys",
  "private-key",
  "malformed-key",
  "duplicate-key",
  "no-keys",
] as const;

/** One of these problems. */
type KeySetProblem = (typeof keySetProblems)[number];

/** The keys of a JWK Set by kid, or why the document is refused. */
type KeySetResult =
  | { readonly ok: true; readonly keys: VerificationKeys }
  | { readonly ok: false; readonly reason: KeySetProblem };

/** The private members of every type of key (RFC 7518 section 6; RFC 9964 for `priv`). */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"];

/**
 * Parses Latchkey's published JWK Set (RFC 7517 section 5), of at most 64 KiB and 32 keys. Keys
 * that are not for ES256 signatures are skipped, so that a later Latchkey may publish them; any
 * private member refuses the document. The kid has to be the thumbprint of the key: it identifies
 * the same key in every document.
 */
export function parseVerificationKeys(bytes: Uint8Array): KeySetResult {
  if (bytes.length > readingBounds.issuerKeys.bytes) return refused("oversized");
  const entries = entriesIn(bytes);
  if (entries === undefined) return refused("malformed");
  if (entries.length > readingBounds.issuerKeys.values) return refused("too-many-keys");
  if (entries.some((entry) => privateMembers.some((name) => Object.hasOwn(entry, name))))
    return refused("private-key");
  const keys = new Map<string, VerificationKey>();
  for (const entry of entries.filter(isForES256)) {
    const key = es256PublicKeyOf(entry);
    if (key === undefined || key.kid !== stringAt(entry, "kid")) return refused("malformed-key");
    if (keys.has(key.kid)) return refused("duplicate-key");
    keys.set(key.kid, key);
  }
  return keys.size === 0 ? refused("no-keys") : { ok: true, keys };
}

type Json = Readonly<Record<string, unknown>>;

function isForES256(entry: Json): boolean {
  return (
    ownValue(entry, "kty") === "EC" &&
    ownValue(entry, "crv") === "P-256" &&
    ownValue(entry, "use") === "sig" &&
    ownValue(entry, "alg") === "ES256" &&
    (!Object.hasOwn(entry, "key_ops") || listAt(entry, "key_ops").includes("verify"))
  );
}

function entriesIn(bytes: Uint8Array): readonly Json[] | undefined {
  const document = strictJson(bytes);
  const keys: unknown = isRecord(document) ? ownValue(document, "keys") : undefined;
  return Array.isArray(keys) && keys.every(isRecord) ? keys : undefined;
}

function refused(reason: KeySetProblem): KeySetResult {
  return { ok: false, reason };
}
