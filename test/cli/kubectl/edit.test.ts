import { expect, test } from "vitest";
import { systemClock } from "../../../src/runtime/clock.ts";
import { readFlags } from "../../../src/cli/kubectl/flag.ts";
import { connectionFlags } from "../../../src/cli/kubectl/connection-flags.ts";
import { fakeCluster } from "./fake-cluster.ts";
import { editValues, missingShell } from "../../../src/cli/kubectl/edit.ts";

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
    ...{ print: () => {}, isInput: false, isOutput: false, isError: false, hasColors: false },
    say: (sentence: string) => void said.push(sentence),
    rows: () => Infinity,
    readInput: async () => Buffer.of(),
    askSecret: async () => "",
  };
  const cluster = fakeCluster({ objects: { sharedsecrets: [{ metadata, spec: { data: {} } }] } });
  const cli = {
    ...{ terminal, clock: systemClock, hostname: "here" },
    env: { ...process.env, KUBE_EDITOR: "echo '- x' >>" },
    connect: async () => cluster,
    untilStopped: () => new AbortController().signal,
  };
  const flags = readFlags(connectionFlags, new Map());
  await expect(editValues({ flags, args: ["database"], program: [] }, cli)).rejects.toThrow(
    "the editor made 25 changes that are refused; nothing is stored",
  );
  expect(said).toHaveLength(25);
});
