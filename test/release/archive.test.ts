import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { archiveOf } from "../../release/archive.ts";

const directory = mkdtempSync(join(tmpdir(), "latchkey-archive-"));
afterAll(() => rmSync(directory, { recursive: true }));

const files = [
  { path: "chart/b.txt", text: "é".repeat(512) },
  { path: "chart/a.txt", text: "a\n" },
  { path: "chart/empty.txt", text: "" },
];

test("tar reads the files, with time 0 and owner 0, in the order of their paths", () => {
  const path = join(directory, "chart.tgz");
  writeFileSync(path, archiveOf(files));
  const env = { ...process.env, TZ: "UTC" };
  const listed = execFileSync("tar", ["--numeric-owner", "-tvzf", path], { encoding: "utf8", env });
  const entry = (size: number, name: string) =>
    expect.stringMatching(
      new RegExp(`^-rw-r--r-- 0/0 +${size} 1970-01-01 00:00(?::00)? chart/${name}$`),
    );
  expect(listed.trimEnd().split("\n")).toEqual([
    entry(2, "a.txt"),
    entry(1024, "b.txt"),
    entry(0, "empty.txt"),
  ]);
  const text = execFileSync("tar", ["-xOzf", path, "chart/b.txt"], { encoding: "utf8" });
  expect(text).toBe(files[0]?.text);
});

test("the bytes do not depend on the order of the files", () => {
  expect(archiveOf(files.toReversed())).toEqual(archiveOf(files));
});

test("a path that does not fit is refused", () => {
  const path = "a".repeat(101);
  expect(() => archiveOf([{ path, text: "" }])).toThrow("must be at most 100 bytes");
});
