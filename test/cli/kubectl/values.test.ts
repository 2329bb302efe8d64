import { execFileSync } from "node:child_process";
import { parseEnv } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  dotenvText,
  isDangerousVariable,
  shellText,
  valuesObject,
  variablesOf,
} from "../../../src/cli/kubectl/values.ts";
import { runs } from "../../support/property-runs.ts";

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

test("variables have names and text without NUL bytes", () => {
  expect(variablesOf(values)).toEqual({
    variables: [["PASSWORD", "it's $HOME\n`x`"]],
    omitted: ["tls.key", "nul", "binary"],
  });
  expect(variablesOf(new Map([["1", Buffer.from("x")]]), "A_").variables).toEqual([["A_1", "x"]]);
});

test("a shell reads back what was printed", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (value) => {
      fc.pre(!value.includes("\0") && value.isWellFormed());
      const text = shellText({ variables: [["X", value]], omitted: [] });
      const printed = execFileSync("/bin/sh", ["-c", `${text}printf %s "$X"`], {
        encoding: "utf8",
      });
      expect(printed).toBe(value);
    }),
    runs(25),
  );
});

test("a dotenv reader reads back what was printed", () => {
  const value = 'a b # c\n$HOME `x` \\ "quoted"';
  const text = dotenvText({ variables: [["X", value]], omitted: [] });
  expect(parseEnv(text)).toEqual({ X: value });
});

describe("variables that make a program run other code", () => {
  test.each([
    "PATH",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "BUN_OPTIONS",
    "BASH_ENV",
    "ENV",
    "PYTHONPATH",
    "path",
    "GIT_SSH_COMMAND",
  ])("%s", (name) => {
    expect(isDangerousVariable(name)).toBe(true);
  });
  test.each(["password", "DATABASE_URL", "PATHNAME", "ENVIRONMENT", "NODENAME"])(
    "not %s",
    (name) => {
      expect(isDangerousVariable(name)).toBe(false);
    },
  );
});
