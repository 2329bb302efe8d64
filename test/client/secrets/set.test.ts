import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { withoutFinalNewline } from "../../../src/client/secrets/data-assignment.ts";
import { type MemoryCli, runInMemory, sharedSecret } from "../memory-cli.ts";

const typed = { isInput: true };
const directory = mkdtempSync(join(tmpdir(), "set-"));
const envFile = join(directory, "empty.env");
writeFileSync(envFile, "password=\n");
afterAll(() => rmSync(directory, { recursive: true }));

describe("set refuses an empty value", () => {
  test.each<[string, readonly string[], MemoryCli]>([
    ["of a pipe", ["password=-"], { input: "" }],
    ["of a pipe for a key alone", ["password"], { input: "" }],
    ["of a pipe with a newline alone", ["password=-"], { input: "\n" }],
    ["that is typed", ["password"], { input: "", terminal: typed }],
    ["of a file", ["password=@/dev/null"], {}],
    ["of --from-file", ["--from-file=password=/dev/null"], {}],
    ["of a literal", ["--literal", "password="], {}],
    ["of an env file", [`--from-env-file=${envFile}`], {}],
  ])("%s, and stores nothing", async (_what, words, options) => {
    const { code, stderr, stored } = await runInMemory(["set", "database", ...words], options);
    expect([code, stored]).toEqual([2, undefined]);
    expect(stderr).toContain("the value of password is empty, so nothing is stored; check");
    const allowed = await runInMemory(["set", "database", "--allow-empty", ...words], options);
    expect([allowed.code, allowed.stored]).toEqual([0, { password: "" }]);
  });
});

describe("set stores", () => {
  const dropped = "the final newline of password is dropped; set --keep-newline to store it\n";
  const done = "sharedsecret/database set password\n";
  test.each<[string, readonly string[], MemoryCli, string, string]>([
    [
      "a text of a pipe without its newline",
      ["password=-"],
      { input: "s3cret\n" },
      "s3cret",
      dropped,
    ],
    [
      "a text that is piped for a key alone",
      ["password"],
      { input: "s3cret\n" },
      "s3cret",
      dropped,
    ],
    ["a text without a newline", ["password=-"], { input: "s3cret" }, "s3cret", ""],
    ["one newline less", ["password=-"], { input: "a\nb\n\n" }, "a\nb\n", dropped],
    ["the newline if asked", ["password=-", "--keep-newline"], { input: "a\n" }, "a\n", ""],
    ["what is typed", ["password"], { input: "s3cret", terminal: typed }, "s3cret", ""],
  ])("%s", async (_what, words, options, value, said) => {
    expect(await runInMemory(["set", "database", ...words], options)).toEqual({
      code: 0,
      stdout: done,
      stderr: said,
      stored: { password: value },
    });
  });

  test("a file byte for byte", async () => {
    const { stored } = await runInMemory(["set", "database", `script=@${import.meta.filename}`]);
    expect(stored?.["script"]).toMatch(/\n$/);
  });
});

test.each([
  [[0x61, 0x0a], [0x61]],
  [[0x61, 0x0d, 0x0a], [0x61]],
  [[0x0a, 0x0a], [0x0a]],
  [[0x0a], []],
  [
    [0x61, 0x0d],
    [0x61, 0x0d],
  ],
  [[], []],
  [
    [0xff, 0x0a],
    [0xff, 0x0a],
  ],
])("the bytes %j are stored as %j", (given, stored) => {
  expect([...withoutFinalNewline(Buffer.from(given))]).toEqual(stored);
});

describe("set --from-env-file stores what get -o dotenv prints", () => {
  test.each([`it's "x"`, "it's $5 `x` \\n", "a\r\nb\r", "=a", "-----BEGIN-----\nx\n", " #a\\", ""])(
    "%j",
    async (value) => {
      const file = join(directory, "env");
      const objects = { sharedsecrets: [sharedSecret({ A: value, B: "last" })] };
      writeFileSync(
        file,
        (await runInMemory(["get", "database", "-o", "dotenv", "--all"], { objects })).stdout,
      );
      const set = ["set", "database", `--from-env-file=${file}`, "--allow-empty"];
      const { stored } = await runInMemory(set);
      expect(stored).toEqual({ A: value, B: "last" });
    },
  );

  test.each(["", "A\n"])("but not a file with %j", async (text) => {
    const file = join(directory, "env");
    writeFileSync(file, text);
    const run = await runInMemory(["set", "database", `--from-env-file=${file}`]);
    expect(run).toMatchObject({ code: 2, stored: undefined });
    expect(run.stderr).toContain(`--from-env-file: "${file}"`);
  });
});

test.each([
  ["two files", ["a=@/dev/null", "a=@/dev/null"]],
  ["an argument and --from-file", ["a=@/dev/null", "--from-file=a=/dev/null"]],
])("set refuses a data key that is given twice, by %s", async (_what, words) => {
  const { code, stderr, stored } = await runInMemory(["set", "database", ...words]);
  expect([code, stderr, stored]).toEqual([
    ...[2, 'data key "a" is given twice; leave one of the values out\n', undefined],
  ]);
});
