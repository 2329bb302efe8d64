import { byAge, type Metadata } from "../../api/object.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { boundSubjectOf, isBoundDigest } from "./key-digest.ts";

/** What decides which of several objects holds a key. */
export interface KeyCandidate extends Pick<ObservedAccessKey, "spec" | "keyDigest"> {
  readonly metadata: Pick<Metadata, "name" | "uid" | "creationTimestamp" | "annotations">;
}

/**
 * Why an object does not hold its key; the name of the holder only where both have one requester.
 */
export type Duplicate =
  | { readonly kind: "duplicate"; readonly by?: string }
  | { readonly kind: "over-limit" };

/**
 * Objects of one index that one requester may have. Whoever presents a key of that index makes
 * Latchkey hash once for each.
 */
export const mostOfOneIndex = 4;

/**
 * The objects of one index that may hold a key, in the order in which they do: bound digests first,
 * because a digest that is not bound can be copied from a manifest; then the older
 * (creationTimestamp, then uid), whatever its state. Of each requester the 4 oldest count.
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
 * Why `own` does not hold its key, as far as digests tell; `sameIndex` are all objects of its
 * index, with or without `own`.
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
 * What a write does that puts a key into `own`: nothing to others, or `own` is the object too many,
 * or an object holds the key, or it would lose the key, because it is younger and comes no later
 * for another reason.
 */
export type CandidateOutcome =
  | { readonly kind: "free" | "over-limit" | "newer-duplicate" }
  | { readonly kind: "duplicate"; readonly by: KeyCandidate };

/**
 * What a write does that puts a key into `own`; `isSame` tells which objects of its index have that
 * key.
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
 * Whether two objects have one key, as far as their digests tell. A bound digest that was copied
 * for another subject verifies nothing.
 */
export function isSameKey(
  one: Omit<KeyCandidate, "metadata">,
  other: Omit<KeyCandidate, "metadata">,
): boolean {
  if (one.keyDigest === undefined || one.keyDigest !== other.keyDigest) return false;
  return !isBound(one) || boundSubjectOf(one.spec) === boundSubjectOf(other.spec);
}

/** Who asked for the object, by its annotation; the empty text without one. */
export function requesterNameOf({ metadata }: KeyCandidate): string {
  return requesterAnnotationsOf(metadata)?.name ?? "";
}

function isBound({ keyDigest = "" }: Omit<KeyCandidate, "metadata">): boolean {
  return isBoundDigest(keyDigest);
}
