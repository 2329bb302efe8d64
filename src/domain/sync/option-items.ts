/** Maximum items and bytes (UTF-8) of an annotation with items, unless it has bounds of its own. */
export const itemBounds = { items: 16, bytes: 1024 } as const;

/** An item of an annotation: `key=value`, or `key` without a value. */
export interface OptionItem {
  /** The item as it is written. */
  readonly text: string;
  readonly key: string;
  readonly value?: string;
}

/** The items of an annotation, or why it is rejected. */
type OptionItems =
  | { readonly kind: "items"; readonly items: readonly OptionItem[] }
  | { readonly kind: "refused"; readonly why: string };

/**
 * Parses an annotation of items, separated by commas or line breaks. Spaces around items, keys and
 * values, and empty items, are ignored. In a value, `\,` is a comma and `\\` is a backslash.
 */
export function optionItems(
  text = "",
  bounds: { readonly items: number; readonly bytes: number } = itemBounds,
): OptionItems {
  const bytes = Buffer.byteLength(text);
  if (bytes > bounds.bytes) return refused(`has ${bytes} bytes; must have at most ${bounds.bytes}`);
  const items: OptionItem[] = [];
  for (const written of partsOf(text)) {
    if (/\\(?![\\,])/.test(written.replaceAll("\\\\", "")))
      return refused(
        `${quoted(written)} is invalid; a backslash must be followed by a comma or by a backslash`,
      );
    items.push(itemOf(written));
  }
  if (items.length > bounds.items)
    return refused(`has ${items.length} items; must have at most ${bounds.items}`);
  const keys = items.map(({ key }) => key);
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined) return refused(`has the key ${quoted(twice)} twice; remove one item`);
  return { kind: "items", items };
}

/** The parts between unescaped commas and line breaks, without empty ones. */
function partsOf(text: string): readonly string[] {
  const parts = text.match(/(?:\\[^\n\r]|[^,\n\r])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function itemOf(text: string): OptionItem {
  const at = text.indexOf("=");
  if (at === -1) return { text, key: text };
  const value = text
    .slice(at + 1)
    .trim()
    .replaceAll(/\\([\\,])/g, "$1");
  return { text, key: text.slice(0, at).trim(), value };
}

function refused(why: string): OptionItems {
  return { kind: "refused", why };
}

/** A text in quotes, of at most 64 characters. */
export function quoted(text: string): string {
  return JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 64)}...`);
}
