import type { Metadata } from "../api/object.ts";

/** The object that a key belongs to: the oldest (creationTimestamp, then uid), whatever its state; undefined of none. */
export function holderOf(sameKey: readonly Metadata[]): Metadata | undefined {
  const [oldest] = sameKey.toSorted(byAge);
  return oldest;
}

/** Name of the older object that holds the key of `own`; `sameKey` are all objects with that key, with or without `own`. */
export function olderHolder(own: Metadata, sameKey: readonly Metadata[]): string | undefined {
  const holder = holderOf([own, ...sameKey.filter(({ uid }) => uid !== own.uid)]);
  return holder === own ? undefined : holder?.name;
}

function byAge(one: Metadata, other: Metadata): number {
  return `${one.creationTimestamp} ${one.uid}` < `${other.creationTimestamp} ${other.uid}` ? -1 : 1;
}
