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

const [colon, brace] = [0x3a, 0x7b];

/**
 * Whether an object of a valid JSON text has a member twice, however its name is escaped: readers
 * differ in which of the two they take (RFC 8259, section 4).
 */
export function hasMemberTwice(text: string): boolean {
  /** The names so far in each open object; undefined for a list. */
  const open: (Set<unknown> | undefined)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (opening.has(code)) open.push(code === brace ? new Set() : undefined);
    else if (closing.has(code)) open.pop();
    else if (code === quote) {
      const end = endOfString(text, at + 1);
      const name: unknown = JSON.parse(text.slice(at, end + 1));
      at = end;
      if (!isName(text, end + 1)) continue;
      const names = open.at(-1);
      if (names?.has(name) === true) return true;
      names?.add(name);
    }
  }
  return false;
}

/** Whether the string that ends here is the name of a member. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (" \t\r\n".includes(text.charAt(at)) && at < text.length) at += 1;
  return text.charCodeAt(at) === colon;
}
