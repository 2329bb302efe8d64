import { describe, expect, test } from "vitest";
import {
  selectedVariables,
  type VariableFlags,
} from "../../../src/client/secrets/selected-variables.ts";
import { runInMemory, sharedSecret } from "../memory-cli.ts";

const none: VariableFlags = { only: [], prefix: undefined, all: false };
const bytes = (text: string) => Buffer.from(text, "latin1");

/** The variables of data, and what is said about them. */
function select(data: Readonly<Record<string, string>>, flags: Partial<VariableFlags>) {
  const said: string[] = [];
  const values = Object.entries(data).map(([key, value]) => [key, bytes(value)] as const);
  const given = { ...none, ...flags };
  const variables = selectedVariables(new Map(values), given, {
    say: (sentence) => void said.push(sentence),
  });
  return { variables: Object.fromEntries(variables), said };
}

describe("variables are", () => {
  test.each<[string, Partial<VariableFlags>, Readonly<Record<string, string>>]>([
    ["those that --only names, whatever they are", { only: ["PATH"] }, { PATH: "/a" }],
    [
      "with a prefix, in upper case",
      { prefix: "DB_" },
      { DB_PATH: "/a", DB_TLS_KEY: "k", DB_1_X: "1" },
    ],
    ["named by both", { only: ["tls.key"], prefix: "x_" }, { x_TLS_KEY: "k" }],
  ])("%s", (_what, flags, variables) => {
    const all = { PATH: "/a", "tls.key": "k", "1-x": "1" };
    const data = Object.entries(all).filter(([key]) => flags.only?.includes(key) ?? true);
    expect(select(Object.fromEntries(data), flags)).toEqual({ variables, said: [] });
  });

  test("as they are named with --all, which says once who chooses the names", () => {
    expect(select({ LD_PRELOAD: "/a.so", url: "u", __proto: "p" }, { all: true })).toEqual({
      variables: { LD_PRELOAD: "/a.so", url: "u", __proto: "p" },
      said: [expect.stringMatching(/^--all: who may write the SharedSecret chooses the names/)],
    });
  });

  test("not the values that no variable can have, which are named", () => {
    const data = { "tls.key": "k", NUL: "a\0canary", BINARY: "\u00ff", url: "u" };
    const { variables, said } = select(data, { all: true });
    expect(variables).toEqual({ url: "u" });
    expect(said[0]).toMatch(/^left out tls\.key, NUL, BINARY: a variable needs a name of /);
    expect(select(data, { prefix: "A_" })).toMatchObject({
      variables: { A_TLS_KEY: "k", A_URL: "u" },
      said: [expect.stringMatching(/^left out NUL, BINARY: /)],
    });
    expect(said.join()).not.toContain("canary");
  });
});

describe("variables are refused", () => {
  test.each<[string, Readonly<Record<string, string>>, Partial<VariableFlags>, RegExp]>([
    ["without a choice", { A: "a" }, {}, /^name the variables: --only=.* --prefix=DB_ .* --all/],
    ["with two choices", { A: "a" }, { all: true, prefix: "A_" }, /^--all cannot be combined/],
    ["and with both others", { A: "a" }, { all: true, only: ["A"] }, /^--all cannot be combined/],
    [
      "if two data keys meet",
      { "a-b": "1", "A.b": "2" },
      { prefix: "X_" },
      /^the data keys a-b and A\.b would both be X_A_B; choose with --only$/,
    ],
    ["with a named key that is no name", { "tls.key": "k" }, { only: ["tls.key"] }, /^tls\.key: /],
    ["with a named value that is no text", { A: "\0" }, { only: ["A"] }, /^A: a variable needs/],
    ["if none is left", { "tls.key": "k" }, { all: true }, /^no value is left for a variable$/],
    ["of no data", {}, { prefix: "A_" }, /^no value is left for a variable$/],
  ])("%s", (_what, data, flags, sentence) => {
    expect(() => select(data, flags)).toThrow(
      expect.objectContaining({ name: "UsageError", message: expect.stringMatching(sentence) }),
    );
  });
});

describe("get and run", () => {
  const objects = { sharedsecrets: [sharedSecret({ PATH: "/evil", URL: "u", "db.key": "k" })] };
  const run = (...words: readonly string[]) => runInMemory(words, { objects });

  test.each<[readonly string[], string]>([
    [["-o", "dotenv", "--only=PATH", "--only=URL"], "PATH='/evil'\nURL='u'\n"],
    [["-o", "dotenv", "--prefix=A_"], "A_PATH='/evil'\nA_URL='u'\nA_DB_KEY='k'\n"],
    [["-o", "shell", "--all"], "export PATH='/evil'\nexport URL='u'\n"],
    [["URL", "-o", "shell"], "export URL='u'\n"],
    [["db.key", "-o", "shell", "--prefix=X"], "export XDB_KEY='k'\n"],
    [["--only=URL"], "u"],
    [["--only=URL", "--only=PATH", "-o", "name"], "URL\nPATH\n"],
  ])("get %j", async (words, stdout) => {
    expect(await run("get", "database", ...words)).toMatchObject({ code: 0, stdout });
  });

  // As a process, run ends with 125 (test/product/cli-values.test.ts).
  test.each<[readonly string[], number, string]>([
    [["get", "database", "-o", "shell"], 2, "name the variables: --only=KEY"],
    [["get", "database", "-o", "dotenv"], 2, "--prefix=DB_ names"],
    [["run", "database", "--", "true"], 2, "and --all takes the names as they are"],
    [["run", "nothing", "--", "true"], 2, "name the variables"],
    [["run", "database", "--prefix=", "--", "true"], 2, "--prefix"],
    [["run", "database", "--prefix=1A", "--", "true"], 2, '"1A" must begin the name of a'],
    [["run", "database", "--prefix=A-", "--", "true"], 2, '"A-" must begin the name of a'],
    [["run", "database", "--only=db.key", "--", "true"], 2, "db.key: a variable needs a name"],
    [["get", "database", "URL", "--only=URL"], 2, "--only cannot be combined"],
    [["get", "database", "--all", "--only=URL", "-o", "json"], 2, "--only cannot be combined"],
    [["get", "database", "URL", "--prefix=A_"], 2, "--prefix is for --output=shell and"],
    [["get", "database", "--only=no", "-o", "shell"], 4, 'has no data key "no"; it has PATH'],
  ])("%j is refused", async (words, code, sentence) => {
    const { stdout, stderr, ...ended } = await run(...words);
    expect(ended.code).toBe(code);
    expect([stdout, stderr]).toEqual(["", expect.stringContaining(sentence)]);
    expect(stderr).not.toContain("evil");
  });
});
