/** A ClusterRole never names more objects than this. */
export const chunkSize = 500;

/** What the shards name now, by number, and what they should name between them. */
export interface Assignment {
  readonly standing: ReadonlyMap<number, readonly string[]>;
  readonly wanted: Iterable<string>;
  /** Numbers that cannot be used. */
  readonly blocked: ReadonlySet<number>;
}

/**
 * Names stay in the lowest shard that has them; new ones fill free places, lowest shard first.
 * Empty shards are left out.
 */
export function assignNames({
  standing,
  wanted,
  blocked,
}: Assignment): ReadonlyMap<number, ReadonlySet<string>> {
  const left = new Set(wanted);
  const shards = new Map<number, Set<string>>();
  for (const [number, names] of [...standing].sort(([one], [other]) => one - other)) {
    if (!blocked.has(number)) shards.set(number, takeOut(left, names));
  }
  for (let number = 0; left.size > 0; number += 1) {
    if (blocked.has(number)) continue;
    const shard = shards.get(number) ?? new Set();
    shards.set(number, fill(shard, left));
  }
  return new Map([...shards].filter(([, names]) => names.size > 0));
}

function takeOut(left: Set<string>, names: readonly string[]): Set<string> {
  const kept = new Set<string>();
  for (const name of names) {
    if (kept.size < chunkSize && left.delete(name)) kept.add(name);
  }
  return kept;
}

function fill(shard: Set<string>, left: Set<string>): Set<string> {
  for (const name of left) {
    if (shard.size >= chunkSize) break;
    shard.add(name);
    left.delete(name);
  }
  return shard;
}
