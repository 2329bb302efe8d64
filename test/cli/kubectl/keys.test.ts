import { expect, test } from "vitest";
import { runInvocation } from "../../../src/cli/kubectl/act.ts";
import { runCommandLine } from "../../../src/cli/kubectl/app.ts";
import { commands } from "../../../src/cli/kubectl/command-table.ts";
import type { Terminal } from "../../../src/cli/kubectl/terminal.ts";
import { boundDigest } from "../../support/bound-digest.ts";
import { TestClock } from "../../support/test-clock.ts";

const key = "canary-key-of-alice";

/** Runs `keys digest` with this standard input. */
async function digestCommand(flags: readonly string[], input: string, isInput = false) {
  let [stdout, stderr] = ["", ""];
  const terminal: Terminal = {
    print: (text) => void (stdout += String(text)),
    say: (sentence) => void (stderr += sentence),
    ...{ isInput, isOutput: false, isError: false, hasColors: false },
    rows: () => Infinity,
    readInput: async () => Buffer.from(isInput ? "" : input),
    askSecret: async () => (isInput ? input : ""),
  };
  const deps = {
    ...{ terminal, env: {}, clock: new TestClock() },
    untilStopped: () => new AbortController().signal,
  };
  const code = await runCommandLine(["keys", "digest", ...flags], {
    stdout: { write: (text) => void (stdout += String(text)) },
    stderr: { write: (text) => void (stderr += String(text)) },
    commands: [commands.keysDigest],
    act: (command, given) => runInvocation(command, given, deps),
  });
  return { code, stdout, stderr };
}

test.each([
  ["--user=alice", "user:alice"],
  ["--team=web", "team:web"],
  ["--subject=ci", "subject:ci"],
])("keys digest %s prints the digest of the key that is bound to %s", async (flag, subject) => {
  expect(await digestCommand([flag], `${key}\n`)).toEqual({
    code: 0,
    stdout: `${boundDigest(key, subject)}\n`,
    stderr: "",
  });
});

test("keys digest asks for the key on a terminal", async () => {
  expect((await digestCommand(["--user=alice"], key, true)).stdout).toBe(
    `${boundDigest(key, "user:alice")}\n`,
  );
});

test.each<[string, readonly string[], string]>([
  ["without a subject", [], "set --user, --team or --subject"],
  ["with two subjects", ["--user=alice", "--team=web"], "set only one of"],
  ["with an empty user", ["--user="], "--user"],
])("keys digest %s is refused", async (_rule, flags, sentence) => {
  expect(await digestCommand(flags, key)).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(sentence),
  });
});

test.each(["", "canary-short", `${key} ${key}`, boundDigest(key, "user:alice")])(
  "keys digest refuses %j, which is not a key, and does not print it",
  async (input) => {
    const { code, stdout, stderr } = await digestCommand(["--user=alice"], input);
    expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining("is not a key")]);
    expect(stderr).not.toMatch(/canary|sha256:/);
  },
);
