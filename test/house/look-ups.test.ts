import { describe, expect, test } from "vitest";
import { linesWith, type SourceFile, sourceFile, sourceFiles } from "./source-files.ts";

/*
 * An object has more than its own fields: `table["constructor"]` is a function, and
 * `record["__proto__"] = value` sets a prototype. What a stranger's word looks up is therefore a
 * Map, or asked by `ownValue`. Under the compiler's checks a word looks up nothing in an object but
 * where the object's type is a Record of string, so those are what is looked for.
 */

/** Where a Record of string is asked by a word that is Latchkey's own, and whose. */
const ownWords = [
  // Names of environment variables, from the table of options.
  "runtime/options.ts: env[variable]",
];

/** Names that a file gives to values whose type is a Record of string. */
function recordsIn({ code }: SourceFile): readonly string[] {
  const declared = code.matchAll(
    /\b(\w+)\??: (?:Readonly<)?(?:Partial<)?Record<(?:string|number|PropertyKey),/g,
  );
  return [...new Set([...declared].map(([, name]) => name ?? ""))];
}

/** Look-ups in them by anything but a literal or a name from the tables of names. */
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

describe("a stranger's word", () => {
  test("looks nothing up in an object", () => {
    const found = sourceFiles.filter(({ path }) => path !== "api/parse.ts").flatMap(lookUpsIn);
    expect(found.filter((place) => !ownWords.includes(place))).toEqual([]);
    expect(found).toEqual(expect.arrayContaining(ownWords));
  });

  test.each([
    "const table: Readonly<Record<string, string>> = {};\nuse(table[request.group]);",
    "function f(patch: Record<string, unknown>, field: string) {\n  patch[field] = 1;\n}",
    "function f({ spec }: { readonly spec: Readonly<Record<string, unknown>> }) {\n  return spec[word];\n}",
  ])("is seen to: %j", (text) => {
    expect(lookUpsIn(sourceFile("domain/breach.ts", text))).toHaveLength(1);
  });

  test.each([
    'const spec: Readonly<Record<string, unknown>> = {};\nuse(spec["key"], spec[annotations.sync]);',
    "const list: readonly string[] = [];\nuse(list[index]);",
  ])("is not seen where there is none: %j", (text) => {
    expect(lookUpsIn(sourceFile("domain/harmless.ts", text))).toEqual([]);
  });

  test("makes no field of an object by assignment", () => {
    expect(sourceFiles.flatMap((file) => linesWith(file, /\bObject\.assign\(\{\}/))).toEqual([]);
  });
});
