import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { notesOf } from "../../release/notes.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { repository } from "../support/install.ts";

const changelog = `# Changelog

## 0.2.0 (unreleased)

### Added

- One.

\`\`\`sh
## no heading
\`\`\`

## 0.1.10 (2027-02-01)

- Ten.

## 0.1.1

## 0.1.0 (2027-01-15)

- First.
`;

describe("the notes of a version", () => {
  it.each([
    [
      "end before the next version, and not in a code block",
      "0.2.0",
      "### Added\n\n- One.\n\n```sh\n## no heading\n```\n",
    ],
    ["are those of the whole version", "0.1.10", "- Ten.\n"],
    ["end with the changelog", "0.1.0", "- First.\n"],
  ])("%s", (_rule, version, notes) => {
    expect(notesOf(changelog, version)).toBe(notes);
  });

  it.each([
    ["of no section", "0.3.0", "the changelog has no section of version 0.3.0"],
    ["of a pattern", "0.1.", "the changelog has no section of version 0.1."],
    ["of an empty section", "0.1.1", "the changelog says nothing about version 0.1.1"],
  ])("%s are refused", (_rule, version, message) => {
    expect(() => notesOf(changelog, version)).toThrow(message);
  });

  it("are in the changelog for this version", () => {
    const notes = notesOf(readFileSync(join(repository, "CHANGELOG.md"), "utf8"), latchkeyVersion);
    expect(notes).toContain("### Installation\n");
  });
});
