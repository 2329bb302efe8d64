import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, test } from "vitest";
import { checksumProblems, checksumsText, type ReleaseFile } from "../../release/checksums.ts";

const files: readonly ReleaseFile[] = [
  { name: "b.tgz", bytes: "b" },
  { name: "a.yaml", bytes: Buffer.from([0, 255]) },
  { name: "B_1+2", bytes: "" },
];
const text = checksumsText(files);
const sum = "0".repeat(64);

test("checksums are those of sha256sum, sorted by name", () => {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-checksums-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const { name, bytes } of files) writeFileSync(join(directory, name), bytes);
  const names = ["B_1+2", "a.yaml", "b.tgz"];
  expect(text).toBe(execFileSync("sha256sum", names, { cwd: directory, encoding: "utf8" }));
});

test.each(["", "a/b", "../a", "-a", "a b", "a\nb", "a\\b", ".a"])(
  "a file named %j is refused",
  (name) => {
    expect(() => checksumsText([{ name, bytes: "" }])).toThrow("is not the name of a file");
  },
);

test("two files with one name are refused", () => {
  expect(() => checksumsText([...files, ...files])).toThrow(
    'two files of the release are named "b.tgz"',
  );
});

describe("files", () => {
  const others = files.slice(1);

  it.each<[string, string, readonly ReleaseFile[], readonly string[]]>([
    ["as they are listed have no problem", text, files, []],
    ["of no list are not listed", "", others, ["a.yaml is not listed", "B_1+2 is not listed"]],
    ["are missing", text, others, ["b.tgz is missing"]],
    [
      "have changed",
      text,
      [...others, { name: "b.tgz", bytes: "c" }],
      ["b.tgz has another checksum"],
    ],
    ["are listed once", `${text}${sum}  b.tgz\n`, files, ["b.tgz is listed twice"]],
    [
      "are listed with a whole line",
      text.trimEnd(),
      files,
      ["the last line has no end", "b.tgz is not listed"],
    ],
    ["are not listed with a path", `${text}${sum}  ../a\n`, files, ["line 4 is invalid"]],
    ["are not listed in binary mode", `${text}${sum} *a\n`, files, ["line 4 is invalid"]],
    ["are not listed by a short checksum", `abc  a\n${text}`, files, ["line 1 is invalid"]],
  ])("%s", (_rule, listed, present, problems) => {
    expect(checksumProblems(listed, present)).toEqual(problems);
  });
});
