/**
 * Maximum entries and characters of a list in an annotation; the policies latchkey-project-share
 * and latchkey-sync-from reject more.
 */
export const listBounds = { entries: 64, characters: 4096 } as const;

/** A comma-separated annotation: its entries, or why it is rejected. */
export type SyncList =
  | { readonly kind: "entries"; readonly entries: readonly string[] }
  | { readonly kind: "refused"; readonly why: string };

const readable = /^[-A-Za-z0-9_.* ]*$/;

/**
 * Parses the entries of `sync-to-projects` or `sync-from` like the policies latchkey-project-share
 * and latchkey-sync-from. Spaces around entries and empty entries are ignored.
 */
export function syncList(text = ""): SyncList {
  const refused = (why: string): SyncList => ({ kind: "refused", why });
  if (text.length > listBounds.characters)
    return refused(`has ${text.length} characters; must have at most ${listBounds.characters}`);
  const written = text.split(",");
  const entries = written.map((entry) => entry.trim()).filter((entry) => entry !== "");
  const bad =
    written.find((entry) => !readable.test(entry)) ?? entries.find((entry) => entry.includes(" "));
  if (bad !== undefined)
    return refused(
      `${quote(bad)} is invalid; entries must be separated by commas and consist of letters, digits, '-', '_', '.' and '*'`,
    );
  if (entries.length > listBounds.entries)
    return refused(`has ${entries.length} entries; must have at most ${listBounds.entries}`);
  return { kind: "entries", entries };
}

function quote(text: string): string {
  return JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 64)}...`);
}
