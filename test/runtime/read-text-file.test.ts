import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  isRegularFile,
  mostFileBytes,
  mostInputBytes,
  readFileBytes,
  readTextFile,
} from "../../src/runtime/read-text-file.ts";

const directory = mkdtempSync(join(tmpdir(), "read-"));
afterAll(() => rmSync(directory, { recursive: true }));

function read(content: string | Uint8Array): string {
  const path = join(directory, "file");
  writeFileSync(path, content);
  return readTextFile({ option: "--file", path });
}

test.each([
  ["a text", "größe: 1\n"],
  ["an empty text", ""],
  ["a text of the maximum size", "a".repeat(mostFileBytes)],
])("%s is read", (_what, text) => {
  expect(read(text)).toBe(text);
});

test.each<[string, string | Uint8Array, string]>([
  ["larger than allowed", "a".repeat(mostFileBytes + 1), "is larger than 1048576 bytes"],
  ["that is not text", Uint8Array.of(0xff, 0xfe, 0x00), "is not a text file in UTF-8"],
])("a file %s is refused", (_what, content, problem) => {
  expect(() => read(content)).toThrow(`--file: "${join(directory, "file")}" ${problem}`);
});

test("a pipe is no file that can be read again; a link to a file, or what is missing, may be", () => {
  const [pipe, link, file] = ["pipe", "link", "file"].map((name) => join(directory, name));
  if (pipe === undefined || link === undefined || file === undefined) throw new Error("no paths");
  execFileSync("mkfifo", [pipe]);
  writeFileSync(file, "a");
  symlinkSync(file, link);
  const paths = [pipe, "/dev/null", file, link, join(directory, "missing")];
  expect(paths.map(isRegularFile)).toEqual([false, false, true, true, true]);
});

test("a file without an end is refused", () => {
  const path = "/dev/zero";
  expect(() => readFileBytes({ option: "--filename", path }, mostInputBytes)).toThrow(
    '--filename: "/dev/zero" is larger than 16777216 bytes',
  );
});

test.each([
  ["is missing", join(directory, "missing"), "cannot be read: ENOENT"],
  ["is a directory", directory, "cannot be read: EISDIR"],
])("a file that %s is refused", (_what, path, problem) => {
  expect(() => readTextFile({ option: "--file", path })).toThrow(`"${path}" ${problem}`);
});
