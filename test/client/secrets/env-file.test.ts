import { parse as readByDotenv } from "dotenv";
import { describe, expect, test } from "vitest";
import { parseEnvFile } from "../../../src/client/secrets/env-file.ts";

const parse = (text: string | Buffer) => Object.fromEntries(parseEnvFile(Buffer.from(text), "f"));

describe("a line of an env file", () => {
  test.each<[string, Readonly<Record<string, string>>]>([
    ["A=1\nB=two words \nA=3", { A: "3", B: "two words" }],
    ["\ufeff# a comment\n\n  export tls.key = x\r\n", { "tls.key": "x" }],
    ["A=", { A: "" }],
    ["A==x", { A: "=x" }],
    ["A=x#y #z", { A: "x#y" }],
    ["A= # z\nB=#x", { A: "", B: "#x" }],
    ["A=it's", { A: "it's" }],
    [String.raw`A='a\n $B "#' # z`, { A: String.raw`a\n $B "#` }],
    ["A='a\nb'\nB=\"a\r\nb\"", { A: "a\nb", B: "a\nb" }],
    [String.raw`A="\n\r\\n\"\$B${"\\`"}\d $C"`, { A: '\n\r\\n"$B`\\d $C' }],
    ["export=1\nexport =2", { export: "2" }],
  ])("%j", (text, values) => {
    expect(parse(text)).toEqual(values);
  });

  test.each<[string, string | Buffer, string]>([
    ["a file without lines", "# nothing\n", "f has no line NAME=value"],
    ["an empty file", "", "f has no line NAME=value"],
    ["bytes that are not UTF-8", Buffer.of(0x41, 0x3d, 0xff), "f is not UTF-8"],
    ["no equals sign", "A=1\n\ncanary\n", "f: line 3 must be NAME=value"],
    ["no name", "=canary", "f: line 1 must be NAME=value"],
    ["an open single quote", "A='canary\nB=1", "f: line 1 must be NAME=value"],
    ["an open double quote", String.raw`A="canary\"`, "f: line 1 must be NAME=value"],
    ["text behind a quote", "A='x\ny'\nB='canary'b", "f: line 3 must be NAME=value"],
    ["a comment next to a quote", "A='x'#canary", "f: line 1 must be NAME=value"],
    ["a backtick", "A=`canary`", "f: line 1 must be NAME=value"],
    ["a name that is no data key", "A/B=canary", "f: line 1 must be NAME=value"],
  ])("cannot be %s", (_what, text, sentence) => {
    expect(() => parse(text)).toThrow(sentence);
    expect(() => parse(text)).not.toThrow("canary");
  });
});

test("an env file may have a value of a megabyte", () => {
  const escaped = String.raw`\"`.repeat(2 ** 20);
  expect(parse(`A="${escaped}"`)["A"]).toHaveLength(2 ** 20);
});

describe("a value that dotenv reads differently is said once, without the value", () => {
  const said = (text: string): readonly string[] => {
    const sentences: string[] = [];
    parseEnvFile(Buffer.from(text), "f", (sentence) => sentences.push(sentence));
    return sentences;
  };

  test.each<[text: string, parts: readonly string[]]>([
    ['A=${canary}\nB=x$canary\nC="$canary"', ["A, B, C: programs that know ${NAME}"]],
    ["A=canary#canary", ["A: dotenv ends a value at #"]],
    ['A="canary\\"b"', ["A: dotenv keeps the backslash"]],
    [
      'A=${X}\nB=a#b\nC="a\\\\"\nD=1',
      ["A: programs that know", "; B: dotenv ends", "; C: dotenv keeps"],
    ],
  ])("%j", (text, parts) => {
    const sentences = said(text);
    expect(sentences).toHaveLength(1);
    for (const part of parts) expect(sentences[0]).toContain(part);
    expect(sentences[0]).not.toContain("canary");
  });

  test.each([
    "A='${B}'",
    "A='a#b'",
    "A=a #b",
    'A="a#b"',
    'A="a\\nb"',
    "A=5$",
    "A=a$1",
    "A=${B}\nA=1",
    String.raw`A=C:\dir\new`,
  ])("not for %j", (text) => {
    expect(said(text)).toEqual([]);
  });

  const values = ["1", "a b", "#a", "a#b", "a #b", "$B", "${B}", '"a"', "'a'", '"a\\nb"'];
  const odd = ['"a\\"b"', '"\\$B"', '"\\\\"', "'a#b'", "a'b", 'a"b', "=", "", " a ", "a\\nb"];
  test.each([...values, ...odd])("or both read A=%s alike", (value) => {
    const text = `A=${value}\n`;
    const isSaid = said(text).length > 0;
    expect(isSaid ? parse(text) : readByDotenv(text)).toEqual(parse(text));
  });
});
