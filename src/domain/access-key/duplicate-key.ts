import { byAge, type Metadata } from "../../api/object.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import { requesterAnnotationsOf } from "../../api/requester.ts";
import { boundSubjectOf, isBoundDigest } from "./key-digest.ts";

/** What decides which of several objects holds a key. */
export interface KeyClaim extends Pick<ObservedAccessKey, "spec" | "keyDigest"> {
  readonly metadata: Pick<Metadata, "name" | "uid" | "creationTimestamp" | "annotations">;
}

/**
 * Why an object does not hold its key; the name of the holder only where both have one requester.
 */
export type Duplicate =
  | { readonly kind: "held"; readonly by?: string }
  | { readonly kind: "crowded-out" };

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
export function rankedClaims<T extends KeyClaim>(sameIndex: readonly T[]): readonly T[] {
  const counts = new Map<string, number>();
  const counted = sameIndex.toSorted(byAge).filter((claim) => {
    const requester = requesterNameOf(claim);
    const count = (counts.get(requester) ?? 0) + 1;
    counts.set(requester, count);
    return count <= mostOfOneIndex;
  });
  return [...counted.filter(isBound), ...counted.filter((claim) => !isBound(claim))];
}

/**
 * Why `own` does not hold its key, as far as digests tell; `sameIndex` are all objects of its
 * index, with or without `own`.
 */
export function duplicateOf(own: KeyClaim, sameIndex: readonly KeyClaim[]): Duplicate | undefined {
  const ranked = rankedClaims([
    own,
    ...sameIndex.filter(({ metadata }) => metadata.uid !== own.metadata.uid),
  ]);
  if (!ranked.includes(own)) return { kind: "crowded-out" };
  const holder = ranked.find((claim) => isSameKey(claim, own));
  if (holder === undefined || holder === own) return undefined;
  return {
    kind: "held",
    ...(requesterNameOf(holder) === requesterNameOf(own) ? { by: holder.metadata.name } : {}),
  };
}

/**
 * What a write does that puts a key into `own`: nothing to others, or `own` is the object too many,
 * or an object holds the key, or it would lose the key, because it is younger and comes no later
 * for another reason.
 */
export type ClaimOutcome =
  | { readonly kind: "free" | "crowded-out" | "displaces" }
  | { readonly kind: "held"; readonly by: KeyClaim };

/**
 * What a write does that puts a key into `own`; `isSame` tells which objects of its index have that
 * key.
 */
export function claimOutcome(
  own: KeyClaim,
  sameIndex: readonly KeyClaim[],
  isSame: (claim: KeyClaim) => boolean,
): ClaimOutcome {
  const ranked = rankedClaims([
    own,
    ...sameIndex.filter(({ metadata }) => metadata.uid !== own.metadata.uid),
  ]);
  const place = ranked.indexOf(own);
  if (place < 0) return { kind: "crowded-out" };
  const by = ranked.slice(0, place).find(isSame);
  if (by !== undefined) return { kind: "held", by };
  const displaces = ranked
    .slice(place + 1)
    .some((claim) => isSame(claim) && isBound(claim) === isBound(own));
  return { kind: displaces ? "displaces" : "free" };
}

/**
 * Whether two objects have one key, as far as their digests tell. A bound digest that was copied
 * for another subject verifies nothing.
 */
export function isSameKey(
  one: Omit<KeyClaim, "metadata">,
  other: Omit<KeyClaim, "metadata">,
): boolean {
  if (one.keyDigest === undefined || one.keyDigest !== other.keyDigest) return false;
  return !isBound(one) || boundSubjectOf(one.spec) === boundSubjectOf(other.spec);
}

/** Who asked for the object, by its annotation; the empty text without one. */
export function requesterNameOf({ metadata }: KeyClaim): string {
  return requesterAnnotationsOf(metadata)?.name ?? "";
}

function isBound({ keyDigest = "" }: Omit<KeyClaim, "metadata">): boolean {
  return isBoundDigest(keyDigest);
}
