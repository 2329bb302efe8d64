import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** `import type` and `export type` load nothing. */
const imported =
  /^(?:import|export) (?!type\b)(?:[^"';]*? from )?"(\.[^"]+)";$|\bimport\("(\.[^"]+)"\)/gm;

/** The same with what is only named. */
const named = /^(?:import|export) (?:[^"';]*? from )?"(\.[^"]+)";$|\bimport\("(\.[^"]+)"\)/gm;

/**
 * The files that each file loads, directly and through others, with itself; absolute paths. With
 * `types`, also those of which only types are imported.
 */
export class ImportClosure {
  readonly #pattern: RegExp;
  readonly #direct = new Map<string, readonly string[]>();

  constructor({ types = false }: { readonly types?: boolean } = {}) {
    this.#pattern = types ? named : imported;
  }

  /** All files that some files load. */
  of(files: readonly string[]): ReadonlySet<string> {
    const found = new Set(files);
    for (const file of found) for (const next of this.#importsOf(file)) found.add(next);
    return found;
  }

  #importsOf(file: string): readonly string[] {
    const known = this.#direct.get(file) ?? readImports(file, this.#pattern);
    this.#direct.set(file, known);
    return known;
  }
}

function readImports(file: string, pattern: RegExp): readonly string[] {
  // A path in the text of a program that a test writes is no file here.
  if (!file.endsWith(".ts") || !existsSync(file)) return [];
  const found = readFileSync(file, "utf8").matchAll(pattern);
  return [...found].map(([, fixed = "", called = ""]) => join(dirname(file), fixed || called));
}
