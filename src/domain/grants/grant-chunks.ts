/** Maximum number of objects that a ClusterRole names. */
const chunkSize = 500;

/** The existing names of each chunk, by chunk number, and all names to assign. */
interface Assignment {
  readonly existing: ReadonlyMap<number, readonly string[]>;
  readonly wanted: Iterable<string>;
  /** Numbers that cannot be used. */
  readonly blocked: ReadonlySet<number>;
}

/**
 * Assigns names to chunks: a name stays in the lowest chunk that has it; new names fill the free
 * space, lowest chunk first. Empty chunks are omitted.
 */
export function assignNames({
  existing,
  wanted,
  blocked,
}: Assignment): ReadonlyMap<number, ReadonlySet<string>> {
  const remaining = new Set(wanted);
  const chunks = new Map<number, Set<string>>();
  for (const [number, names] of [...existing].sort(([one], [other]) => one - other)) {
    if (!blocked.has(number)) chunks.set(number, takeOut(remaining, names));
  }
  for (let number = 0; remaining.size > 0; number += 1) {
    if (blocked.has(number)) continue;
    const chunk = chunks.get(number) ?? new Set();
    chunks.set(number, fill(chunk, remaining));
  }
  return new Map([...chunks].filter(([, names]) => names.size > 0));
}

function takeOut(remaining: Set<string>, names: readonly string[]): Set<string> {
  const kept = new Set<string>();
  for (const name of names) {
    if (kept.size < chunkSize && remaining.delete(name)) kept.add(name);
  }
  return kept;
}

function fill(chunk: Set<string>, remaining: Set<string>): Set<string> {
  for (const name of remaining) {
    if (chunk.size >= chunkSize) break;
    chunk.add(name);
    remaining.delete(name);
  }
  return chunk;
}
