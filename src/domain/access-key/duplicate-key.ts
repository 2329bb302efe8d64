import { type Annotated, byAge, type Created } from "../../api/object.ts";
import type { OwnedAccessKeySpec } from "../../api/owned-access-key.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { boundSubjectOf, isBoundDigest } from "./key-digest.ts";

/** A digest, and the spec with the subject that it may be bound to. */
interface SpecAndDigest {
  readonly spec: OwnedAccessKeySpec;
  readonly keyDigest: string | undefined;
}

/** The fields that decide which of several objects owns a key. */
export interface KeyCandidate extends SpecAndDigest {
  readonly metadata: Created & Annotated & { readonly name: string; readonly uid: string };
}

/** Why an object does not own its key; names the owner only if both have the same requester. */
export type Duplicate =
  | { readonly kind: "duplicate"; readonly by?: string }
  | { readonly kind: "over-limit" };

/**
 * Maximum number of objects with one index for each requester: authentication hashes once for each.
 */
export const mostOfOneIndex = 4;

/**
 * The objects of one index that may own a key, in order of precedence and regardless of their
 * state: bound digests first, because the author of an object with the plain key may know the key
 * from another place; then the older (creationTimestamp, then uid). Only the 4 oldest of each
 * requester count.
 */
export function rankedCandidates<T extends KeyCandidate>(sameIndex: readonly T[]): readonly T[] {
  const counts = new Map<string, number>();
  const counted = sameIndex.toSorted(byAge).filter((candidate) => {
    const requester = requesterNameOf(candidate);
    const count = (counts.get(requester) ?? 0) + 1;
    counts.set(requester, count);
    return count <= mostOfOneIndex;
  });
  return [...counted.filter(isBound), ...counted.filter((candidate) => !isBound(candidate))];
}

/**
 * Why `own` does not own its key, by digests; undefined if it does. `sameIndex` are all objects of
 * its index, with or without `own`.
 */
export function duplicateOf(
  own: KeyCandidate,
  sameIndex: readonly KeyCandidate[],
): Duplicate | undefined {
  const ranked = rankedCandidates([
    own,
    ...sameIndex.filter(({ metadata }) => metadata.uid !== own.metadata.uid),
  ]);
  if (!ranked.includes(own)) return { kind: "over-limit" };
  const owner = ranked.find((candidate) => isSameKey(candidate, own));
  if (owner === undefined || owner === own) return undefined;
  return {
    kind: "duplicate",
    ...(requesterNameOf(owner) === requesterNameOf(own) ? { by: owner.metadata.name } : {}),
  };
}

/**
 * The outcome of a write that sets the key of `own`: free, over the limit of its requester, a
 * duplicate of an object that owns the key, or of a newer object that would lose the key.
 */
type CandidateOutcome =
  | { readonly kind: "free" | "over-limit" | "newer-duplicate" }
  | { readonly kind: "duplicate"; readonly by: KeyCandidate };

/**
 * Computes the outcome of a write that sets the key of `own`; `isSame` matches objects with the
 * same key.
 */
export function candidateOutcome(
  own: KeyCandidate,
  sameIndex: readonly KeyCandidate[],
  isSame: (candidate: KeyCandidate) => boolean,
): CandidateOutcome {
  const ranked = rankedCandidates([
    own,
    ...sameIndex.filter(({ metadata }) => metadata.uid !== own.metadata.uid),
  ]);
  const rank = ranked.indexOf(own);
  if (rank < 0) return { kind: "over-limit" };
  const by = ranked.slice(0, rank).find(isSame);
  if (by !== undefined) return { kind: "duplicate", by };
  const displaces = ranked
    .slice(rank + 1)
    .some((candidate) => isSame(candidate) && isBound(candidate) === isBound(own));
  return { kind: displaces ? "newer-duplicate" : "free" };
}

/**
 * Whether two objects have the same key, by digests. A bound digest that was copied to another
 * subject never verifies.
 */
export function isSameKey(one: SpecAndDigest, other: SpecAndDigest): boolean {
  if (one.keyDigest === undefined || one.keyDigest !== other.keyDigest) return false;
  return !isBound(one) || boundSubjectOf(one.spec) === boundSubjectOf(other.spec);
}

/** The requester of the object from its annotation; the empty string without one. */
export function requesterNameOf({ metadata }: KeyCandidate): string {
  return requesterAnnotationsOf(metadata)?.name ?? "";
}

function isBound({ keyDigest = "" }: SpecAndDigest): boolean {
  return isBoundDigest(keyDigest);
}
