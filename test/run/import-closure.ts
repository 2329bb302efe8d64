import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** `import type` and `export type` load nothing. */
const imported =
  /^(?:import|export) (?!type\b)(?:[^"';]*? from )?"(\.[^"]+)";$|\bimport\("(\.[^"]+)"\)/gm;

/** The files that each file loads, directly and through others, with itself; absolute paths. */
export class ImportClosure {
  readonly #direct = new Map<string, readonly string[]>();

  /** All files that some files load. */
  of(files: readonly string[]): ReadonlySet<string> {
    const found = new Set(files);
    for (const file of found) for (const next of this.#importsOf(file)) found.add(next);
    return found;
  }

  #importsOf(file: string): readonly string[] {
    const known = this.#direct.get(file) ?? readImports(file);
    this.#direct.set(file, known);
    return known;
  }
}

function readImports(file: string): readonly string[] {
  // A path in the text of a program that a test writes is no file here.
  if (!file.endsWith(".ts") || !existsSync(file)) return [];
  const found = readFileSync(file, "utf8").matchAll(imported);
  return [...found].map(([, fixed = "", called = ""]) => join(dirname(file), fixed || called));
}
