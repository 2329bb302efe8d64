import { describe, expect, test } from "vitest";
import { mutationsOf } from "./mutations.ts";

describe("mutationsOf", () => {
  test.each<[string, string, readonly string[]]>([
    [
      "mutates each condition",
      "return a && !b || c;",
      ["return a || !b || c;", "return a && !b && c;", "return a && b || c;"],
    ],
    [
      "mutates each comparison",
      "if (a === 1 && b > 0) {}",
      ["if (a === 1 || b > 0) {}", "if (a !== 1 && b > 0) {}", "if (a === 1 && b <= 0) {}"],
    ],
    ["mutates each call of some", "return list.some(f);", ["return list.every(f);"]],
    [
      "mutates each literal",
      'return [true, "a", ""];',
      [
        'return [false, "a", ""];',
        'return [true, "mutanta", ""];',
        'return [true, "a", "mutant"];',
      ],
    ],
    [
      "does not mutate comments, imports or types",
      '/** a && b */\nimport { a } from "b";\n// true\ntype T = "a" | "b";\ninterface I {\n  readonly a: true;\n}\nfunction f(a: Pick<T, "a">, b: T["b"]) {}\n',
      [],
    ],
  ])("%s", (_what, source, texts) => {
    expect(mutationsOf(source).map(({ text }) => text)).toEqual(texts);
  });

  test("reports the line of a mutation", () => {
    expect(mutationsOf("\n\nreturn true;")[0]).toMatchObject({
      line: 3,
      before: "true",
      after: "false",
    });
  });
});
