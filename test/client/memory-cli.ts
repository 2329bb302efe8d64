import { type Program, runCommandLine } from "../../src/cli/command-line.ts";
import { clientProgram, runCommand } from "../../src/client/actions.ts";
import type { Cli } from "../../src/client/cli.ts";
import type { Cluster } from "../../src/client/connection/cluster.ts";
import type { ConnectionFlags } from "../../src/client/connection/connection-options.ts";
import { exitCodeOf, printable, sentenceOf } from "../../src/client/failure.ts";
import type { Terminal } from "../../src/client/terminal.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import type { Environment } from "../../src/runtime/options.ts";
import { plainValues } from "../../src/tokens/shared-values.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { fakeChoice, fakeCluster, type FakeObjects } from "./fake-cluster.ts";

/** What a client in memory runs with. */
export interface MemoryCli extends Partial<FakeObjects> {
  readonly env?: Environment;
  /** What the standard input has, or what its user types if it is a terminal. */
  readonly input?: string | Buffer;
  /** Which standard streams are a terminal. */
  readonly terminal?: Partial<Pick<Terminal, "isInput" | "isOutput">>;
  /** Connects to another cluster than that of the objects. */
  readonly connect?: Cli["connect"];
}

/** What a client in memory printed, said and sent. */
export interface MemoryRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The values of `spec.data` of its last PATCH, by data key. */
  readonly stored: Readonly<Record<string, string>> | undefined;
}

/**
 * Runs a command line of the client on a fake cluster, with a clock that passes the time it waits
 * for.
 */
export async function runInMemory(
  words: readonly string[],
  {
    objects = {},
    forbidden = [],
    connect,
    env = {},
    input = "",
    terminal: streams = {},
  }: MemoryCli = {},
): Promise<MemoryRun> {
  const clock = new TestClock();
  let [stdout, stderr] = ["", ""];
  let stored: MemoryRun["stored"];
  const terminal: Terminal = {
    print: (content) => void (stdout += Buffer.from(content).toString()),
    say: (sentence) => void (stderr += `${printable(sentence)}\n`),
    isInput: false,
    isOutput: false,
    isError: false,
    hasColors: false,
    ...streams,
    readInput: async () => Buffer.from(input),
    ask: async () => input.toString(),
    askSecret: async () => input.toString(),
  };
  const cli = {
    terminal,
    env,
    clock,
    hostname: "here",
    untilStopped: () => new AbortController().signal,
    async connect(flags: ConnectionFlags) {
      if (connect !== undefined) return connect(flags);
      const patch: Cluster["patch"] = async (_resource, _ref, { body }) => {
        stored = plainData(body);
      };
      return { ...fakeCluster({ objects, forbidden }, flags.namespace), patch };
    },
  };
  let isOver = false;
  const program: Program = {
    ...clientProgram(cli),
    async act(command, given) {
      try {
        return await runCommand(command, given, cli);
      } catch (error) {
        terminal.say(sentenceOf(error));
        return exitCodeOf(error);
      }
    },
  };
  const ended = runCommandLine(words, program, {
    stdout: { write: (text) => void (stdout += text) },
    stderr: { write: (text) => void (stderr += text) },
  }).finally(() => (isOver = true));
  while (!isOver) {
    await settled();
    if (!isOver) clock.advance(clock.untilNext ?? 0);
  }
  return { code: await ended, stdout, stderr, stored };
}

/** The SharedSecret `team-a/database` with these values. */
export function sharedSecret(values: Readonly<Record<string, string | Buffer>>): object {
  const data = Object.entries(values).map(([key, value]) => [
    key,
    Buffer.from(value).toString("base64"),
  ]);
  const metadata = { name: "database", namespace: fakeChoice.namespace };
  return { metadata, spec: { data: Object.fromEntries(data) } };
}

function plainData(body: unknown): Readonly<Record<string, string>> {
  const values = plainValues(JSON.parse(encodeBody(body)));
  return Object.fromEntries([...values].map(([key, bytes]) => [key, bytes.toString()]));
}
