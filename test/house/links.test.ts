import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const repository = join(import.meta.dirname, "..", "..");
const pages = execFileSync("git", ["ls-files", "-z", "*.md"], {
  cwd: repository,
  encoding: "utf8",
})
  .split("\0")
  .filter((path) => path !== "" && existsSync(join(repository, path)))
  .map((path) => ({ path, text: readFileSync(join(repository, path), "utf8") }));

/** Relative links of a page, as paths from the repository's root with the heading after `#`. */
function linksOf({ path, text }: { path: string; text: string }): readonly string[] {
  return [...withoutCode(text).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = ""]) => {
    const [file = "", heading] = link.split("#");
    const target = file === "" ? path : join(dirname(path), file);
    return heading === undefined ? target : `${target}#${heading}`;
  });
}

/** Anchors of headings, as GitHub generates them. */
function anchorsOf(text: string): readonly string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-"),
  );
}

function withoutCode(text: string): string {
  return text.replaceAll(/^ *```.*?^ *```/gms, "");
}

test("every relative link in Markdown points to an existing file and heading", () => {
  const anchors = new Map(pages.map(({ path, text }) => [path, anchorsOf(text)]));
  const isBroken = (link: string): boolean => {
    const [file = "", heading] = link.split("#");
    if (!existsSync(join(repository, file))) return true;
    return heading !== undefined && !(anchors.get(file)?.includes(heading) ?? false);
  };
  const broken = pages.flatMap((page) =>
    linksOf(page)
      .filter(isBroken)
      .map((link) => `${page.path}: ${link}`),
  );
  expect(pages.flatMap(linksOf).length).toBeGreaterThan(50);
  expect(broken).toEqual([]);
});

test("every path of the repository in Markdown exists", () => {
  const paths = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/(?<![\w/.-])(?:config|crds|docs|src|test)\/[\w./-]+/g)].map(([named]) => ({
      path,
      named: named.replace(/[./]+$/, ""),
    })),
  );
  expect(paths.length).toBeGreaterThan(100);
  expect(paths.filter(({ named }) => !existsSync(join(repository, named)))).toEqual([]);
});

test("a page whose reader runs kubectl latchkey says how to install it", () => {
  const runs = pages.filter(
    ({ path, text }) =>
      /^(README|docs\/(?:(?:how-to|tutorials)\/)?[\w-]+)\.md$/.test(path) &&
      !["docs/cli.md", "docs/threat-model.md"].includes(path) &&
      text.replaceAll(/^\|.*$/gm, "").includes("kubectl latchkey"),
  );
  const without = runs.filter((page) => !linksOf(page).includes("docs/cli.md#install"));
  expect(runs.length).toBeGreaterThan(10);
  expect(without.map(({ path }) => path)).toEqual([]);
});
