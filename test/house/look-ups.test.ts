import { describe, expect, test } from "vitest";
import { linesWith, type SourceFile, sourceFile, sourceFiles } from "./source-files.ts";

/*
 * An object has more properties than its own: `table["constructor"]` is a function, and
 * `record["__proto__"] = value` sets a prototype. A lookup by an untrusted string therefore uses a
 * Map or `ownValue`. With the compiler's checks, a string can index only an object whose type is a
 * Record of string, so this test searches for indexed Records.
 */

/** Lookups in a Record of string by a trusted string, and where the string comes from. */
const ownWords = [
  // Names of environment variables, from the table of options.
  "runtime/options.ts: env[variable]",
];

/** Names of the values in a file whose type is a Record of string. */
function recordsIn({ code }: SourceFile): readonly string[] {
  const declared = code.matchAll(
    /\b(\w+)\??: (?:Readonly<)?(?:Partial<)?Record<(?:string|number|PropertyKey),/g,
  );
  return [...new Set([...declared].map(([, name]) => name ?? ""))];
}

/** Lookups in them by anything but a literal or a name from the tables of names. */
function lookUpsIn(file: SourceFile): readonly string[] {
  return recordsIn(file).flatMap((name) =>
    [
      ...file.code.matchAll(
        new RegExp(
          String.raw`(?<![\w.])(?:\w+\.)*${name}\[(?!""|(?:annotations|labels|extras)\.\w+\])[^\]]+\]`,
          "g",
        ),
      ),
    ].map(([found]) => `${file.path}: ${found}`),
  );
}

describe("an untrusted string", () => {
  test("does not index an object", () => {
    const found = sourceFiles.filter(({ path }) => path !== "api/parse.ts").flatMap(lookUpsIn);
    expect(found.filter((place) => !ownWords.includes(place))).toEqual([]);
    expect(found).toEqual(expect.arrayContaining(ownWords));
  });

  test.each([
    "const table: Readonly<Record<string, string>> = {};\nuse(table[request.group]);",
    "function f(patch: Record<string, unknown>, field: string) {\n  patch[field] = 1;\n}",
    "function f({ spec }: { readonly spec: Readonly<Record<string, unknown>> }) {\n  return spec[word];\n}",
  ])("is detected in: %j", (text) => {
    expect(lookUpsIn(sourceFile("domain/breach.ts", text))).toHaveLength(1);
  });

  test.each([
    'const spec: Readonly<Record<string, unknown>> = {};\nuse(spec["key"], spec[annotations.sync]);',
    "const list: readonly string[] = [];\nuse(list[index]);",
  ])("is not detected in: %j", (text) => {
    expect(lookUpsIn(sourceFile("domain/harmless.ts", text))).toEqual([]);
  });

  test("does not become a field of an object by assignment", () => {
    expect(sourceFiles.flatMap((file) => linesWith(file, /\bObject\.assign\(\{\}/))).toEqual([]);
  });
});
