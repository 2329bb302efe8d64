import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../support/install.ts";

/** Pages that a program writes, and pages for contributors. */
const others = /^docs\/(?:contributing|decisions)\/|^docs\/(?:chart-values|metrics|kinds)\.md$/;

/** Where a program writes the rest of a page: docs/cli.md and docs/options.md. */
const written = /\n## (?:Commands\n|Options of )/;

/** A page for users, without what a program writes. */
export interface UserPage {
  readonly path: string;
  readonly text: string;
}

/** The pages of docs for users. */
export function userPages(): readonly UserPage[] {
  return execFileSync("git", ["ls-files", "-z", "docs/*.md"], {
    cwd: repository,
    encoding: "utf8",
  })
    .split("\0")
    .filter((path) => path !== "" && !others.test(path))
    .map((path) => {
      const [text = ""] = readFileSync(join(repository, path), "utf8").split(written);
      return { path, text };
    });
}
