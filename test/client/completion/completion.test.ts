import { describe, expect, test } from "vitest";
import { commands } from "../../../src/client/commands.ts";
import { completionOf, completionText } from "../../../src/client/completion/completion.ts";

const table = Object.values(commands);
const words = (line: readonly string[]) => completionOf(line, table).known.map(({ word }) => word);

describe("the last word can be", () => {
  test.each([
    [["ke"], ["keys"]],
    [
      ["keys", "d"],
      ["describe", "disable", "delete", "digest"],
    ],
    [["-n", "web", "keys", "ro"], ["rotate"]],
    [["-nweb", "keys", "ro"], ["rotate"]],
    [
      ["list", "-o", ""],
      ["json", "yaml", "name"],
    ],
    [["list", "--output=j"], ["--output=json"]],
    [
      ["keys", "create", "--out"],
      ["--output-file=", "--output="],
    ],
    [["completion", "b"], ["bash"]],
    [
      ["why", ""],
      ["secret/", "shsec/", "oak/", "dcet/"],
    ],
    [
      ["why", "-n", "web", "s"],
      ["secret/", "shsec/"],
    ],
    [["why", "oak/ci"], []],
    [["why", "pod/"], []],
    [["constructor", ""], []],
  ])("%j: %j", (line, expected) => {
    expect(words(line)).toEqual(expected);
  });
});

describe("names come from the cluster", () => {
  test.each([
    [["get", ""], "sharedsecrets"],
    [["get", "db", ""], "datakeys"],
    [["unset", "db", "a", ""], "datakeys"],
    [["get", "-n", ""], "namespaces"],
    [["keys", "delete", "a", "b"], "keys"],
    [["token", "delete", "a", "b"], "tokens"],
    [["delete", "a", ""], "sharedsecrets"],
    [["list", "--context="], "contexts"],
    [["keys", "create", "--output-file", "x"], "files"],
    [["list", ""], undefined],
    [["why", "secret/"], "objects"],
    [["why", "-n", "web", "SharedSecrets/da"], "objects"],
    [["why", "ownedaccesskey.management.service/"], "objects"],
    [["why", "secret"], undefined],
    [["why", "pod/"], undefined],
    [["why", "oak/ci", ""], undefined],
  ])("%j: %s", (line, completes) => {
    expect(completionOf(line, table).completes).toBe(completes);
  });

  test("with the flags before them", () => {
    const { flags, args } = completionOf(["get", "-n", "web", "--as=x", "db", ""], table);
    expect([Object.fromEntries(flags), args]).toEqual([{ namespace: ["web"], as: ["x"] }, ["db"]]);
  });
});

test("the answer has the form of kubectl and cobra", () => {
  expect(completionText([{ word: "get", text: "prints" }], false)).toBe("get\tprints\n:4\n");
  expect(completionText([{ word: "--context=", text: "" }], false)).toBe("--context=\n:6\n");
  expect(completionText([{ word: "oak/", text: "a key" }], false)).toBe("oak/\ta key\n:6\n");
  expect(completionText([{ word: "oak/ci", text: "" }], false)).toBe("oak/ci\n:4\n");
  expect(completionText([], true)).toBe(":0\n");
});
