/** Entries and characters that a list in an annotation may have; the policies latchkey-project-share and latchkey-sync-from refuse more. */
export const listBounds = { entries: 64, characters: 4096 } as const;

/** A comma-separated annotation: its entries, or why it is not followed. */
export type SyncList = { readonly kind: "entries"; readonly entries: readonly string[] } | { readonly kind: "refused"; readonly why: string };

const projectGlobs = { characters: /^[-A-Za-z0-9_.* ]*$/, fix: "is not a project name or glob; use letters, digits, '-', '_', '.' and '*', and separate entries by commas" };
const namespaceNames = { characters: /^[-a-z0-9 ]*$/, fix: "is not the name of a namespace; globs are not supported, separate names by commas" };

/** The project names and globs of `sync-to-projects`, read as the policy latchkey-project-share reads them. */
export function projectList(text: string | undefined): SyncList {
  return readList(text, projectGlobs);
}

/** The namespaces of `sync-from`, read as the policy latchkey-sync-from reads them. */
export function namespaceList(text: string | undefined): SyncList {
  return readList(text, namespaceNames);
}

/** Spaces around entries and empty entries do not count. */
function readList(text = "", { characters, fix }: typeof projectGlobs): SyncList {
  if (text.length > listBounds.characters) return { kind: "refused", why: `${text.length} characters are more than ${listBounds.characters}; use fewer entries` };
  const written = text.split(",");
  const entries = written.map((entry) => entry.trim()).filter((entry) => entry !== "");
  const bad = written.find((entry) => !characters.test(entry)) ?? entries.find((entry) => entry.includes(" "));
  if (bad !== undefined) return { kind: "refused", why: `${quote(bad)} ${fix}` };
  if (entries.length > listBounds.entries) return { kind: "refused", why: `${entries.length} entries are more than ${listBounds.entries}; use fewer entries` };
  return { kind: "entries", entries };
}

function quote(text: string): string {
  return JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 64)}...`);
}
