import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";

const repository = join(import.meta.dirname, "..", "..");
const directory = mkdtempSync(join(tmpdir(), "latchkey-bundle-"));
afterAll(() => rmSync(directory, { recursive: true }));

test("the bundle of the image is one file that parses a command line like the source", () => {
  const program = join(directory, "latchkey.mjs");
  execFileSync("npm", ["run", "--silent", "build", "--", `--outfile=${program}`], {
    cwd: repository,
  });
  const outcomes = ["--version", "controler", "controller --nmespace=a", "controller"].map(
    (line) => {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [program, ...line.split(" ")],
        {
          encoding: "utf8",
          env: {},
        },
      );
      return [status, stdout, stderr];
    },
  );
  expect(outcomes).toEqual([
    [0, `${latchkeyVersion}\n`, ""],
    [2, "", expect.stringMatching(/^latchkey: command "controler" does not exist .*\n$/)],
    [2, "", expect.stringMatching(/^latchkey: option --nmespace does not exist .*\n$/)],
    [2, "", expect.stringMatching(/^latchkey: no kubeconfig is set .*\n$/)],
  ]);
});
