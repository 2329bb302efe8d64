/**
 * The notes of a version: its section of CHANGELOG.md without the heading, such as
 * `## 0.1.0 (2027-01-15)`, with one line break at its end. Throws an Error that names the version
 * if the changelog has no section of it, or an empty one.
 */
export function notesOf(changelog: string, version: string): string {
  const lines = changelog.split("\n");
  const headings = headingsIn(lines);
  const own = headings.find((at) => versionIn(lines[at] ?? "") === version);
  if (own === undefined) throw new Error(`the changelog has no section of version ${version}`);
  const end = headings.find((at) => at > own);
  const notes = lines
    .slice(own + 1, end)
    .join("\n")
    .trim();
  if (notes === "") throw new Error(`the changelog says nothing about version ${version}`);
  return `${notes}\n`;
}

/** The indices of the lines that begin a section; a code block has none. */
function headingsIn(lines: readonly string[]): readonly number[] {
  let isCode = false;
  return lines.flatMap((line, at) => {
    if (/^ *```/.test(line)) isCode = !isCode;
    return !isCode && line.startsWith("## ") ? [at] : [];
  });
}

function versionIn(heading: string): string | undefined {
  return heading.split(/\s+/)[1];
}
