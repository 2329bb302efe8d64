const longestName = 64;
const mostCandidates = 1_000;

/** The distance of a candidate whose last words are the name: less near than one letter. */
const wordsDistance = 1.5;

/**
 * The candidate that a name was probably meant to be: the one that differs in the fewest
 * characters, at most a third of them, or else one that ends with the name as its last words, or is
 * the name with `-name`; undefined if none. Looks at 1,000 candidates of at most 64 characters.
 */
export function similarName(name: string, candidates: Iterable<string>): string | undefined {
  if (name === "" || name.length > longestName) return undefined;
  let best: { readonly found: string; readonly distance: number } | undefined;
  let looked = 0;
  for (const found of candidates) {
    looked += 1;
    if (looked > mostCandidates) break;
    if (found === name || found.length > longestName) continue;
    const changes = distanceOf(name, found);
    const distance = hasWords(found, name) ? Math.min(changes, wordsDistance) : changes;
    if (distance < (best?.distance ?? Infinity)) best = { found, distance };
  }
  const most = Math.max(wordsDistance, Math.floor(name.length / 3));
  return best !== undefined && best.distance <= most ? best.found : undefined;
}

function hasWords(text: string, words: string): boolean {
  return text.endsWith(`-${words}`) || text.endsWith(`-${words}s`) || text === `${words}-name`;
}

/**
 * The number of characters to insert, delete, replace or exchange with the next one (optimal string
 * alignment distance).
 */
function distanceOf(one: string, other: string): number {
  let [previous, current]: readonly number[][] = [
    [],
    Array.from({ length: other.length + 1 }, (_, at) => at),
  ];
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const isSame = one[row - 1] === other[at - 1];
      const isExchanged = one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      next[at] = Math.min(
        (next[at - 1] ?? 0) + 1,
        (current?.[at] ?? 0) + 1,
        (current?.[at - 1] ?? 0) + (isSame ? 0 : 1),
        isExchanged ? (previous?.[at - 2] ?? Infinity) + 1 : Infinity,
      );
    }
    [previous, current] = [current, next];
  }
  return current?.[other.length] ?? 0;
}
