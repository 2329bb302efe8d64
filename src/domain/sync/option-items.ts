import { withoutEnd } from "../../api/text-end.ts";
import { quoted } from "../report-object.ts";

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
 * Parses an annotation of items, a list as {@link listEntries} reads it. Blanks around keys and
 * values are ignored, too. In a value, `\,` is a comma and `\\` is a backslash.
 */
export function optionItems(
  text = "",
  bounds: { readonly items: number; readonly bytes: number } = itemBounds,
): OptionItems {
  const bytes = Buffer.byteLength(text);
  if (bytes > bounds.bytes) return refused(`has ${bytes} bytes; must have at most ${bounds.bytes}`);
  const items: OptionItem[] = [];
  for (const written of listEntries(text)) {
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

/**
 * The entries of a list in an annotation, which are separated by commas or line breaks. Blanks
 * (spaces and tabs) around entries, and empty entries, are ignored. A comma behind a backslash
 * separates nothing.
 */
export function listEntries(text: string): readonly string[] {
  const parts = text.match(/(?:\\[^\n\r]|[^,\n\r])+/g) ?? [];
  return parts.map(trimmed).filter((part) => part !== "");
}

/** A text without the blanks around it. */
function trimmed(text: string): string {
  return withoutEnd(text, " \t").replace(/^[ \t]+/, "");
}

function itemOf(text: string): OptionItem {
  const at = text.indexOf("=");
  if (at === -1) return { text, key: text };
  const value = trimmed(text.slice(at + 1)).replaceAll(/\\([\\,])/g, "$1");
  return { text, key: trimmed(text.slice(0, at)), value };
}

function refused(why: string): OptionItems {
  return { kind: "refused", why };
}

/**
 * Maximum entries and characters of a list in an annotation; the policies latchkey-project-share
 * and latchkey-sync-from reject more.
 */
export const listBounds = { entries: 64, characters: 4096 } as const;

/** A list of names in an annotation: its entries, or why it is rejected. */
export type SyncList =
  | { readonly kind: "entries"; readonly entries: readonly string[] }
  | { readonly kind: "refused"; readonly why: string };

const readable = /^[-A-Za-z0-9_.*]+$/;

/**
 * Parses the entries of `sync-to-projects` or `sync-from`, a list as {@link listEntries} reads it,
 * like the policies latchkey-project-share and latchkey-sync-from.
 */
export function syncList(text = ""): SyncList {
  const refused = (why: string): SyncList => ({ kind: "refused", why });
  if (text.length > listBounds.characters)
    return refused(`has ${text.length} characters; must have at most ${listBounds.characters}`);
  const entries = listEntries(text);
  const bad = entries.find((entry) => !readable.test(entry));
  if (bad !== undefined)
    return refused(
      `${quoted(bad)} is invalid; entries must be separated by commas or line breaks, and ` +
        "consist of letters, digits, '-', '_', '.' and '*'",
    );
  if (entries.length > listBounds.entries)
    return refused(`has ${entries.length} entries; must have at most ${listBounds.entries}`);
  return { kind: "entries", entries };
}

/** Maximum names of `sync-to-clusters`; the policy latchkey-cluster-share rejects more. */
const mostClusters = 16;

/**
 * Parses the names of `sync-to-clusters` like the policy latchkey-cluster-share: names of connected
 * clusters, or `*` alone for all of them.
 */
export function clusterList(text?: string): SyncList {
  const list = namesOrAll("clusters", text);
  if (list.kind === "refused") return list;
  if (list.entries.length > mostClusters)
    return {
      kind: "refused",
      why: `has ${list.entries.length} names; must have at most ${mostClusters}, or only "*"`,
    };
  return list;
}

/** Parses names of `what`, such as `projects`, or `*`; no other glob. */
export function namesOrAll(what: string, text?: string): SyncList {
  const list = syncList(text);
  if (list.kind === "refused") return list;
  const glob = list.entries.find((entry) => entry.includes("*") && entry !== "*");
  return glob === undefined
    ? list
    : { kind: "refused", why: `${quoted(glob)} is invalid; name ${what}, or only "*"` };
}
