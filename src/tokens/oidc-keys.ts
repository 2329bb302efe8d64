import { createPublicKey, type KeyObject } from "node:crypto";
import { readingBounds } from "../api/reading-bounds.ts";
import { isRecord, listAt, ownValue, stringAt } from "../api/parse.ts";
import { strictJson } from "./strict-json.ts";

/** Algorithms of signatures that count (RFC 7518, section 3.1). */
export const oidcAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
] as const;

/** One of these algorithms. */
export type OidcAlgorithm = (typeof oidcAlgorithms)[number];

/** A key of an issuer. */
export interface OidcKey {
  readonly kid: string;
  readonly publicKey: KeyObject;
  /** Those that it may verify. */
  readonly algorithms: readonly OidcAlgorithm[];
}

/** The keys of an issuer by kid, and why others of the set do not count; or why none does. */
export type OidcKeySet =
  | {
      readonly kind: "keys";
      readonly keys: ReadonlyMap<string, OidcKey>;
      /** A sentence without a period for each, which quotes nothing of the set but kids. */
      readonly left: readonly string[];
    }
  | { readonly kind: "refused"; readonly problem: string };

const { bytes: mostBytes, values: mostKeys } = readingBounds.foreignKeys;
const longestKid = 256;
/** Sizes of RSA keys in bits: a smaller one is no proof, and a larger one costs too much. */
const rsaBits = { least: 2048, most: 8192 } as const;

const curves: ReadonlyMap<unknown, OidcAlgorithm> = new Map([
  ["P-256", "ES256"],
  ["P-384", "ES384"],
  ["P-521", "ES512"],
]);

/** The private members of every type of key (RFC 7518, section 6). */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

type Json = Readonly<Record<string, unknown>>;

/**
 * Parses the JWK Set of an issuer (RFC 7517, section 5). Keys for other purposes are passed over; a
 * private key, two of one kid, and one that is malformed, too weak or too large do not count, and
 * are named.
 */
export function parseOidcKeys(bytes: Uint8Array): OidcKeySet {
  if (bytes.length > mostBytes) return refused(`it has more than ${mostBytes} bytes`);
  const document = strictJson(bytes);
  const entries: unknown = isRecord(document) ? ownValue(document, "keys") : undefined;
  if (!Array.isArray(entries) || !entries.every(isRecord)) return refused("it is no JWK Set");
  if (entries.length > mostKeys) return refused(`it has more than ${mostKeys} keys`);
  const signing = entries.filter(isForSignatures);
  const counts = new Map<string, number>();
  for (const entry of signing) counts.set(kidOf(entry), (counts.get(kidOf(entry)) ?? 0) + 1);
  const keys = new Map<string, OidcKey>();
  const left = new Set<string>();
  for (const entry of signing) {
    const kid = kidOf(entry);
    const key = (counts.get(kid) ?? 0) > 1 ? "stands twice" : keyOf(entry, kid);
    if (typeof key === "string") left.add(`the key ${kidText(kid)} ${key}`);
    else keys.set(kid, key);
  }
  return keys.size === 0
    ? refused(["it has no key that counts", ...left].join("; "))
    : { kind: "keys", keys, left: [...left] };
}

/**
 * The keys of `now`, with the objects of `former` for those that are the same; `former` itself, if
 * all are. What a key has verified counts as long as its object does.
 */
export function sameKeys(
  now: ReadonlyMap<string, OidcKey>,
  former: ReadonlyMap<string, OidcKey>,
): ReadonlyMap<string, OidcKey> {
  const kept = [...now].map(([kid, key]) => {
    const known = former.get(kid);
    return [kid, known !== undefined && isSameKey(known, key) ? known : key] as const;
  });
  const isSame = now.size === former.size && kept.every(([kid, key]) => former.get(kid) === key);
  return isSame ? former : new Map(kept);
}

function isSameKey(one: OidcKey, other: OidcKey): boolean {
  return one.publicKey.equals(other.publicKey) && one.algorithms.join() === other.algorithms.join();
}

/** A key, or why it does not count. */
function keyOf(entry: Json, kid: string): OidcKey | string {
  if (privateMembers.some((name) => Object.hasOwn(entry, name))) return "has its private part";
  if (kid === "" || kid.length > longestKid) return "has no kid";
  const publicKey = publicKeyOf(entry);
  if (publicKey === undefined) return "is malformed";
  const algorithms = algorithmsOf(entry, publicKey);
  if (typeof algorithms === "string") return algorithms;
  return algorithms.length === 0
    ? "has an alg that is not supported"
    : { kid, publicKey, algorithms };
}

function algorithmsOf(entry: Json, key: KeyObject): readonly OidcAlgorithm[] | string {
  const bits = key.asymmetricKeyDetails?.modulusLength;
  if (bits !== undefined && (bits < rsaBits.least || bits > rsaBits.most))
    return `has ${bits} bits; RSA keys of ${rsaBits.least} to ${rsaBits.most} count`;
  const ofType =
    bits === undefined
      ? [curves.get(ownValue(entry, "crv"))].filter((one) => one !== undefined)
      : oidcAlgorithms.filter((one) => !one.startsWith("ES"));
  const alg = stringAt(entry, "alg");
  return alg === undefined ? ofType : ofType.filter((one) => one === alg);
}

function publicKeyOf(entry: Json): KeyObject | undefined {
  const text = (name: string): string => stringAt(entry, name) ?? "";
  const jwk =
    text("kty") === "RSA"
      ? { kty: "RSA", n: text("n"), e: text("e") }
      : { kty: "EC", crv: text("crv"), x: text("x"), y: text("y") };
  try {
    return createPublicKey({ key: jwk, format: "jwk" });
  } catch {
    // Errors of node:crypto may quote their input.
    return undefined;
  }
}

function isForSignatures(entry: Json): boolean {
  const kty = ownValue(entry, "kty");
  return (
    (kty === "RSA" || (kty === "EC" && curves.has(ownValue(entry, "crv")))) &&
    (!Object.hasOwn(entry, "use") || ownValue(entry, "use") === "sig") &&
    (!Object.hasOwn(entry, "key_ops") || listAt(entry, "key_ops").includes("verify"))
  );
}

const kidOf = (entry: Json): string => stringAt(entry, "kid") ?? "";

/** A kid as it may be logged: it is text of another party. */
function kidText(kid: string): string {
  return /^[\w.=-]{1,64}$/.test(kid) ? `"${kid}"` : "(another kid)";
}

function refused(problem: string): OidcKeySet {
  return { kind: "refused", problem };
}
