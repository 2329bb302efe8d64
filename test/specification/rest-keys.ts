import { hasFinalizer, isDeleting, mark } from "./consent.ts";
import { nameOf, type Raw } from "./raw.ts";
import { isRevoked } from "./revoked.ts";
import { objectsOf, type Stored } from "./stored.ts";

/*
 * Keys and tokens when nothing happens, from docs/owned-access-key.md and
 * docs/direct-cluster-endpoint-token.md. Calls no code of src.
 */

/** What is wrong with keys and tokens while only the end of a lifetime is awaited. */
export function keyProblems(server: Stored): readonly string[] {
  return [
    ...objectsOf(server, "ownedaccesskeys").flatMap((key) =>
      problemsOf(key, keyReason(key, server)),
    ),
    ...objectsOf(server, "directclusterendpointtokens").flatMap((token) =>
      tokenProblems(token, server),
    ),
  ];
}

function problemsOf(object: Raw, expected: string): readonly string[] {
  const { status, metadata } = object;
  const ready = status?.conditions?.find(({ type }) => type === "Ready")?.reason;
  const name = nameOf(metadata);
  if (isDeleting(object)) return [`${name} is being deleted, and does not go`];
  return [
    ...(hasFinalizer(object) || expected === "Expired" ? [] : [`${name} has no finalizer`]),
    ...(status?.observedGeneration === metadata.generation ? [] : [`the status of ${name} is old`]),
    ...(ready === expected ? [] : [`${name} is ${ready ?? ""} instead of ${expected}`]),
  ];
}

function secondsOf(ms: number): string {
  return new Date(ms).toISOString().replace(".000Z", "Z");
}

/** When a key or token ends, in milliseconds since the epoch. */
function endOf({ metadata, spec = {} }: Raw, usual: number): number {
  const start = Math.min(
    ...[mark({ metadata }, "created-at"), metadata.creationTimestamp].map(
      (text) => Date.parse(text ?? "") || Infinity,
    ),
  );
  const { ttl = 0 } = spec;
  return ttl === 0 ? start + usual : start + ttl * 1000;
}

function parentOf(object: Raw, server: Stored): Raw | "none" | "gone" {
  const uid = mark(object, "requester-key-id");
  if (uid === undefined) return "none";
  const found = objectsOf(server, "ownedaccesskeys").find(({ metadata }) => metadata.uid === uid);
  return found === undefined || isDeleting(found) ? "gone" : found;
}

function keyReason(key: Raw, server: Stored): string {
  if (server.now >= endOf(key, Infinity)) return "Expired";
  if (!isParentValid(key, server)) return "ParentKeyInvalid";
  if (hasOlder(key, server)) return "DuplicateKey";
  return key.spec?.disabled === true ? "Disabled" : "Active";
}

/** Whether an older object has the same key. */
function hasOlder(key: Raw, server: Stored): boolean {
  const value = key.spec?.["key"];
  const ageOf = ({ metadata }: Raw): string => `${metadata.creationTimestamp} ${metadata.uid}`;
  return objectsOf(server, "ownedaccesskeys").some(
    (other) => value !== undefined && other.spec?.["key"] === value && ageOf(other) < ageOf(key),
  );
}

function isParentValid(object: Raw, server: Stored): boolean {
  const parent = parentOf(object, server);
  return parent === "none" || (parent !== "gone" && keyReason(parent, server) === "Active");
}

const anHour = 3_600_000;

function tokenProblems(token: Raw, server: Stored): readonly string[] {
  const parent = parentOf(token, server);
  const parentEnd = parent === "none" || parent === "gone" ? Infinity : endOf(parent, Infinity);
  const end = Math.min(endOf(token, anHour), parentEnd);
  const isValid = isParentValid(token, server);
  const reason = server.now >= end ? "Expired" : isValid ? "Minted" : "ParentKeyInvalid";
  const { token: text, expiresAt } = token.status ?? {};
  const { name, uid } = token.metadata;
  return [
    ...problemsOf(token, reason),
    ...((text !== undefined) === (reason === "Minted")
      ? []
      : [`${name} is ${reason}, ${text === undefined ? "without" : "with"} a token`]),
    ...(reason === "Minted" && expiresAt !== secondsOf(end)
      ? [`${name} ends at ${expiresAt ?? ""}`]
      : []),
    ...(reason === "Minted" && isRevoked(uid, server) ? [`${name} is valid, and revoked`] : []),
  ];
}
