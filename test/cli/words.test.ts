import { describe, expect, test } from "vitest";
import { commands as table } from "../../src/client/commands.ts";
import { connectionOptions as connection } from "../../src/client/connection/connection-options.ts";
import { hoisted, separated, splitAtProgram } from "../../src/cli/words.ts";

const vocabulary = { commands: Object.values(table), connection };

describe("connection flags before the command move behind it", () => {
  test.each([
    [
      ["get", "db"],
      ["get", "db"],
    ],
    [
      ["-n", "web", "get", "db"],
      ["get", "-n", "web", "db"],
    ],
    [
      ["--context=a", "get", "db"],
      ["get", "--context=a", "db"],
    ],
    [
      ["--insecure-skip-tls-verify", "keys", "create", "ci"],
      ["keys", "create", "--insecure-skip-tls-verify", "ci"],
    ],
    [
      ["--all", "get"],
      ["--all", "get"],
    ],
    [
      ["-n", "web"],
      ["-n", "web"],
    ],
    [
      ["--constructor", "get"],
      ["--constructor", "get"],
    ],
    [[], []],
  ])("%j", (argv, words) => {
    expect(hoisted(argv, vocabulary)).toEqual(words);
  });
});

describe("a value may follow its letter, as in kubectl", () => {
  test.each([
    [["-ojson"], ["-o=json"]],
    [["-nteam-a"], ["-n=team-a"]],
    [["-n=team-a"], ["-n=team-a"]],
    [["-Aojson"], ["-A", "-o=json"]],
    [["-Ao=json"], ["-A", "-o=json"]],
    [
      ["-Ao", "json"],
      ["-A", "-o", "json"],
    ],
    [["-f-"], ["-f=-"]],
    [["-Ah"], ["-Ah"]],
    [
      ["-1", "-", "--output", "-é"],
      ["-1", "-", "--output", "-é"],
    ],
  ])("%j: %j", (argv, words) => {
    expect(separated(argv, vocabulary)).toEqual(words);
  });
});

describe("a program follows after --", () => {
  test.each([
    [
      ["run", "db", "--", "env", "--", "-n"],
      ["run", "db"],
      ["env", "--", "-n"],
    ],
    [["get", "db"], ["get", "db"], []],
    [["--"], [], []],
  ])("%j", (argv, own, program) => {
    expect(splitAtProgram(argv, vocabulary)).toEqual({ own, program });
  });
});
