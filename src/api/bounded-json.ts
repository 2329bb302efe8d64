/** How many values a JSON text may have, and how deep they may be in each other. */
export interface JsonBounds {
  readonly values: number;
  readonly depth: number;
}

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const opening: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const closing: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/**
 * Why a JSON text is not parsed: it takes 100 times as long to parse two million brackets as a
 * string of their length. Undefined for a text within the bounds, which need not be JSON.
 */
export function excessIn(text: string, { values, depth }: JsonBounds): string | undefined {
  let [found, level] = [1, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at + 1);
    else if (closing.has(code)) level -= 1;
    else if (code === comma || opening.has(code)) {
      found += 1;
      if (code !== comma) level += 1;
      if (found > values) return `more than ${values} values`;
      if (level > depth) return `more than ${depth} levels`;
    }
  }
  return undefined;
}

/** Where the JSON string ends whose first character is at `start`: at its quote, or the end. */
export function endOfString(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) at += 1;
  }
  return text.length;
}
