import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { installCompletion } from "../../../src/client/completion/completion-script.ts";
import { plugin } from "../../support/cli-form.ts";
import { installed, startOnTerminal } from "../../support/terminal-program.ts";
import { skippedWithout } from "../../support/skipped.ts";
import { runInMemory } from "../memory-cli.ts";

const directory = mkdtempSync(join(tmpdir(), "completion-script-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** A program that proposes a name, and prints its arguments otherwise. */
function proposing(name: string): string {
  const program = join(directory, "program");
  const proposals = `${name}\ttext\n:4\n`;
  writeFileSync(
    program,
    `#!/bin/sh\nif [ "$1" = __complete ]; then cat <<'END'\n${proposals}END\nelse printf 'got:<%s>\\n' "$2"; fi\n`,
    { mode: 0o755 },
  );
  return program;
}

describe("bash completes a name", skippedWithout(installed("bash")), () => {
  const name = "a $(:>ran)`:>ran`;:>ran;\"b'c'\"\\d";
  test.each([
    ["of one letter", "a"],
    ["of a quoted beginning", String.raw`a\ $`],
  ])("%s, and runs nothing of it", async (_what, typed) => {
    const { bin } = plugin([proposing(name)], directory);
    const script = join(directory, "script");
    writeFileSync(script, (await runInMemory(["completion", "bash"])).stdout);
    const env = {
      PATH: `${bin}:/usr/bin:/bin`,
      PS1: "",
      HOME: directory,
      TERM: "dumb",
      LC_ALL: "C",
    };
    const terminal = startOnTerminal(["bash", "--norc", "--noprofile", "-i"], env);
    try {
      terminal.type("bind 'set enable-bracketed-paste off'\n");
      terminal.type(`cd ${directory} && source ./script; echo loaded:$((40+2))\n`);
      await terminal.shows("loaded:42");
      terminal.type(`kubectl-latchkey get ${typed}\t\n`);
      await terminal.shows("got:<");
      expect(existsSync(join(directory, "ran"))).toBe(false);
      await terminal.shows(`${name}>`);
    } finally {
      terminal.close();
    }
  });
});

test("completion install replaces the script of the development environment", () => {
  const { bin } = plugin(["/bin/true"], mkdtempSync(join(directory, "dev-")));
  expect(installCompletion(undefined, { PATH: bin })).toBe(join(bin, "kubectl_complete-latchkey"));
});
