import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BundledPackage } from "./bundled-packages.ts";

/** Files with a license, and those that section 4(d) of Apache-2.0 asks to keep. */
const fileName = /^(?:licen[cs]e|copying|notice|copyrightnotice)(?:[.-](?!.*\.[cm]?[jt]s$)|$)/i;

/**
 * The texts of the licenses of packages by package URL, from the files of each package below the
 * directory that has node_modules. A package without such a file has the text of its license only
 * if that is Apache-2.0, of which LICENSE in that directory is the text.
 */
export function licenseTexts(
  packages: readonly BundledPackage[],
  root: string,
): ReadonlyMap<string, string> {
  const read = (...path: readonly string[]) => readFileSync(join(root, ...path), "utf8");
  const textsOf = ({ path, license }: BundledPackage): readonly string[] => {
    const files = readdirSync(join(root, path)).filter((file) => fileName.test(file));
    if (files.length > 0) return files.toSorted().map((file) => read(path, file));
    return "id" in license && license.id === "Apache-2.0" ? [read("LICENSE")] : [];
  };
  return new Map(
    packages
      .map((one): readonly [string, readonly string[]] => [one.purl, textsOf(one)])
      .filter(([, texts]) => texts.length > 0)
      .map(([purl, texts]) => [purl, texts.join("\n")]),
  );
}
