import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseEnvFile } from "../../../src/client/secrets/env-file.ts";
import { dotenvText, shellText, valuesObject } from "../../../src/client/secrets/values.ts";
import { runs } from "../../support/property-runs.ts";
import { hostileTexts, sourcedByShell } from "../../support/sourced-by-shell.ts";
import { runInMemory, sharedSecret } from "../memory-cli.ts";

const values = new Map([
  ["PASSWORD", Buffer.from("it's $HOME\n`x`")],
  ["tls.key", Buffer.from("text")],
  ["nul", Buffer.from("a\0b")],
  ["binary", Buffer.from([0xff, 0xfe])],
]);

test("values are text, or base64 where they are not", () => {
  expect(valuesObject(values)).toEqual({
    PASSWORD: "it's $HOME\n`x`",
    "tls.key": "text",
    nul: "a\0b",
    "binary.base64": "//4=",
  });
});

test("a shell reads back what was printed", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (value) => {
      fc.pre(!value.includes("\0") && value.isWellFormed());
      const text = shellText([["X", value]]);
      const printed = execFileSync("/bin/sh", ["-c", `${text}printf %s "$X"`], {
        encoding: "utf8",
      });
      expect(printed).toBe(value);
    }),
    runs(25),
  );
});

test("set --from-env-file reads what get -o dotenv prints, and a shell runs nothing of it", () => {
  const bytes = fc.string({ unit: "binary", maxLength: 20 });
  const texts = fc.oneof(
    hostileTexts,
    bytes.filter((text) => !text.includes("\0")),
  );
  fc.assert(
    fc.property(texts, (value) => {
      const text = dotenvText([
        ["A", value],
        ["B", "last"],
      ]);
      expect([...parseEnvFile(Buffer.from(text), "x.env")]).toEqual([
        ["A", value],
        ["B", "last"],
      ]);
      expect([value, ...escapedForms(value)]).toContain(sourcedByShell(text));
    }),
    { ...runs(75), examples: [[`it's "x"`], ["a\r\n"], ["=a"], ["it's `:>ran`\r"]] },
  );
});

/** What a shell reads, for which `\n` and `\r` are no line breaks. */
function escapedForms(value: string): readonly string[] {
  const escaped = value.replaceAll("\r", String.raw`\r`);
  return [escaped, escaped.replaceAll("\n", String.raw`\n`)];
}

test("get -o dotenv names a value that parsers of dotenv files read in different ways", async () => {
  const objects = { sharedsecrets: [sharedSecret({ PLAIN: "a", QUOTED: `it's "x"` })] };
  const { code, stdout, stderr } = await runInMemory(
    ["get", "database", "-o", "dotenv", "--prefix=A_"],
    { objects },
  );
  expect([code, stdout]).toEqual([0, `A_PLAIN='a'\nA_QUOTED="it's \\"x\\""\n`]);
  expect(stderr).toMatch(
    /^set --from-env-file reads A_QUOTED back, but parsers [^\n]+ -o json[^\n]+\n$/,
  );
});
