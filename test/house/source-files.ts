import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";

/** A file of `src`, read as text. */
export interface SourceFile {
  /** Below `src`, such as `kube/informer/store.ts`. */
  readonly path: string;
  readonly text: string;
  /** The text without comments, and with nothing inside its quoted strings. */
  readonly code: string;
  readonly imports: readonly Import[];
}

/** What a file imports: names of a path below `src` (`*` for the whole file), or a package. */
export type Import =
  | { readonly kind: "ours"; readonly path: string; readonly names: readonly string[] }
  | { readonly kind: "package"; readonly name: string };

// A regular expression literal is possible where a value can begin; templates are kept, because
// `${}` contains code.
const tokens =
  /\/\*[^]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|(?<=[(,=:[!&|?{};>\n]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*/g;

const root = new URL("../../", import.meta.url);

/** Paths of all TypeScript files below a directory of the project, relative to it. */
export function typeScriptIn(directory: string): readonly string[] {
  const entries = readdirSync(new URL(directory, root), { recursive: true, encoding: "utf8" });
  return entries.filter((path) => path.endsWith(".ts")).sort();
}

/** Every file of `src`. */
export const sourceFiles: readonly SourceFile[] = typeScriptIn("src/").map((path) =>
  sourceFile(path, readFileSync(new URL(`src/${path}`, root), "utf8")),
);

/** A text as a file of `src` of that path. */
export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, code: codeOf(text), imports: importsOf(path, text) };
}

/** The top-level directory of a file of `src`; `main.ts` counts as its own. */
export function roomOf(path: string): string {
  return path.split("/")[0] ?? "";
}

/** Lines of code in which a pattern occurs, as `path:line: text`. */
export function linesWith({ path, code }: SourceFile, pattern: RegExp): readonly string[] {
  return code
    .split("\n")
    .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : []));
}

/** The names that a file imports from files of src, as `path#name`. */
export function importedBy({ imports }: SourceFile, root: string): readonly string[] {
  return imports.flatMap((found) =>
    found.kind === "ours" && found.path.startsWith(root)
      ? found.names.map((name) => `${found.path.slice(root.length)}#${name}`)
      : [],
  );
}

/** The names that a file exports, as `path#name`. */
export function exportedNames({ path, text }: SourceFile): readonly string[] {
  const exports = text.matchAll(
    /^export (?:async )?(?:const|let|function\*?|class|abstract class|interface|type) (\w+)/gm,
  );
  return [...exports].map(([, name]) => `${path}#${name}`);
}

function codeOf(text: string): string {
  return text.replaceAll(tokens, (token) => {
    if (token.startsWith("//")) return "";
    if (token.startsWith("/*")) return token.replaceAll(/[^\n]/g, "");
    return token.startsWith('"') || token.startsWith("'") ? '""' : token;
  });
}

function importsOf(path: string, text: string): readonly Import[] {
  const named = text.matchAll(
    /^(?:import|export)\s([^;"]*?)from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm,
  );
  return [...named].map(([, clause, from, bare, dynamic]) => {
    const name = from ?? bare ?? dynamic ?? "";
    return name.startsWith(".")
      ? { kind: "ours", path: posix.join(posix.dirname(path), name), names: namesIn(clause ?? "*") }
      : { kind: "package", name };
  });
}

/** The exported names in the clause of an import, such as `{ type a, b as c }`. */
function namesIn(clause: string): readonly string[] {
  const list = clause.match(/\{([^}]*)\}/)?.[1];
  if (list === undefined) return ["*"];
  return list.split(",").flatMap((item) => item.trim().match(/^(?:type\s+)?(\w+)/)?.[1] ?? []);
}
