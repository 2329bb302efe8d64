import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Cli } from "../../../src/client/cli.ts";
import { connectionOptions } from "../../../src/client/connection/connection-options.ts";
import { editValues, missingShell } from "../../../src/client/secrets/edit.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { readOptions } from "../../../src/cli/command.ts";
import { TestClock } from "../../support/test-clock.ts";
import { fakeCluster } from "../fake-cluster.ts";

const directory = mkdtempSync(join(tmpdir(), "edit-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Edits a SharedSecret whose data is `a: one`, and returns what is said. */
async function edited(editor: string): Promise<readonly string[]> {
  const metadata = { namespace: "team-a", name: "db", uid: "1", resourceVersion: "1" };
  const sharedsecrets = [{ metadata, spec: { data: { a: "b25l" } } }];
  const said: string[] = [];
  const cli: Cli = {
    terminal: {
      print: (content) => void said.push(content.toString()),
      say: (sentence) => void said.push(sentence),
      isInput: false,
      isOutput: false,
      isError: false,
      hasColors: false,
      readInput: async () => Buffer.of(),
      ask: async () => "",
      askSecret: async () => "",
    },
    clock: new TestClock(),
    env: { ...process.env, KUBE_EDITOR: editor, XDG_RUNTIME_DIR: directory },
    untilStopped: () => new AbortController().signal,
    connect: async () => fakeCluster({ objects: { sharedsecrets } }),
  };
  const flags = readOptions(connectionOptions, new Map());
  await editValues({ flags, args: ["db"], program: [] }, cli);
  return said;
}

test("an edit that is unchanged is no failure", async () => {
  expect(await edited("true")).toEqual(["sharedsecret/db unchanged\n"]);
});

test.each([
  ["unchanged", "sed -i 's/a: one/a: 7/'"],
  ["emptied", 'sh -c \'grep -q Not.stored "$1" && : > "$1" || echo "data: {a: 7}" > "$1"\' -'],
])("an edit that is %s after it was refused is a failure", async (_what, editor) => {
  await expect(edited(editor)).rejects.toMatchObject({
    exitCode: 1,
    message: 'SharedSecret "team-a/db" is not changed: the value of a must be text; quote it',
  });
  expect(readdirSync(directory)).toEqual([]);
});

test("an editor needs the shell that Windows does not have", () => {
  expect(missingShell("win32")).toContain("/bin/sh, which Windows does not have; use");
  expect((["linux", "darwin"] as const).map((platform) => missingShell(platform))).toEqual([
    undefined,
    undefined,
  ]);
});

test("an editor that makes a mistake for ever is stopped", async () => {
  const metadata = { namespace: "team-a", name: "database", uid: "u", resourceVersion: "1" };
  const said: string[] = [];
  const terminal = {
    print: () => {},
    isInput: false,
    isOutput: false,
    isError: false,
    hasColors: false,
    say: (sentence: string) => void said.push(sentence),
    rows: () => Infinity,
    readInput: async () => Buffer.of(),
    ask: async () => "",
    askSecret: async () => "",
  };
  const cluster = fakeCluster({ objects: { sharedsecrets: [{ metadata, spec: { data: {} } }] } });
  const cli = {
    terminal,
    clock: systemClock,
    env: { ...process.env, KUBE_EDITOR: "echo '- x' >>" },
    connect: async () => cluster,
    untilStopped: () => new AbortController().signal,
  };
  const flags = readOptions(connectionOptions, new Map());
  await expect(editValues({ flags, args: ["database"], program: [] }, cli)).rejects.toThrow(
    "the editor made 25 changes that are refused; nothing is stored",
  );
  expect(said).toHaveLength(25);
});
