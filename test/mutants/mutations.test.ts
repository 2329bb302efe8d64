import { describe, expect, test } from "vitest";
import { mutationsOf } from "./mutations.ts";

describe("a mutation is made of", () => {
  test.each<[string, string, readonly string[]]>([
    [
      "each condition",
      "return a && !b || c;",
      ["return a || !b || c;", "return a && !b && c;", "return a && b || c;"],
    ],
    [
      "each comparison",
      "if (a === 1 && b > 0) {}",
      ["if (a === 1 || b > 0) {}", "if (a !== 1 && b > 0) {}", "if (a === 1 && b <= 0) {}"],
    ],
    ["each question about a list", "return list.some(f);", ["return list.every(f);"]],
    [
      "each literal",
      'return [true, "a", ""];',
      [
        'return [false, "a", ""];',
        'return [true, "mutanta", ""];',
        'return [true, "a", "mutant"];',
      ],
    ],
    [
      "no comment, import or type",
      '/** a && b */\nimport { a } from "b";\n// true\ntype T = "a" | "b";\ninterface I {\n  readonly a: true;\n}\nfunction f(a: Pick<T, "a">, b: T["b"]) {}\n',
      [],
    ],
  ])("%s", (_what, source, texts) => {
    expect(mutationsOf(source).map(({ text }) => text)).toEqual(texts);
  });

  test("with its line", () => {
    expect(mutationsOf("\n\nreturn true;")[0]).toMatchObject({
      line: 3,
      before: "true",
      after: "false",
    });
  });
});
