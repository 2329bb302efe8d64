import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeFiles } from "../../src/client/private-files.ts";

const directory = mkdtempSync(join(tmpdir(), "write-"));
afterAll(() => rmSync(directory, { recursive: true }));

test("files are readable only by their owner, in a directory that is created", () => {
  const output = join(directory, "a", "b");
  writeFiles(output, [{ name: "file", text: "text" }]);
  expect(readFileSync(join(output, "file"), "utf8")).toBe("text");
  expect(statSync(join(output, "file")).mode & 0o777).toBe(0o600);
});

test("a directory that cannot be created is refused in one sentence", () => {
  const output = join(directory, "file");
  writeFileSync(output, "");
  expect(() => writeFiles(output, [])).toThrow(`--output: "${output}" cannot be written: EEXIST`);
});

// The process of a test that never ends could not be stopped.
test.skipIf(!existsSync("/proc/self"))("a directory below /proc is refused at once", () => {
  const module = join(import.meta.dirname, "..", "..", "src", "client", "private-files.ts");
  const script = `import { writeFiles } from ${JSON.stringify(module)}; writeFiles("/proc/x", []);`;
  const args = ["--input-type=module", "--eval", script];
  const { status, stderr } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: 20_000,
  });
  expect(status).toBe(1);
  expect(stderr).toContain('--output: "/proc/x" cannot be written: ENOENT');
});
