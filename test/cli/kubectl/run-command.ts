import { entries } from "../../../src/cli/kubectl/actions.ts";
import { type Cluster, clusterOver } from "../../../src/cli/kubectl/cluster.ts";
import type { Cli } from "../../../src/cli/kubectl/cli.ts";
import { exitCodeOf, sentenceOf } from "../../../src/cli/kubectl/failure.ts";
import type { ApiRequest } from "../../../src/kube/transport.ts";
import { settled, TestClock } from "../../support/test-clock.ts";
import { fakeChoice } from "./fake-cluster.ts";

/** A command with its words; flags are named as on the command line. */
export interface CommandRun {
  readonly command: string;
  readonly args?: readonly string[];
  readonly flags?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly connect: Cli["connect"];
}

/**
 * Runs the code of a command without a terminal, with a clock that passes the time it waits for;
 * what it throws is said, as the program does.
 */
export async function runCommand({
  command,
  args = [],
  flags = {},
  input = "",
  env = {},
  connect,
}: CommandRun) {
  let [stdout, stderr] = ["", ""];
  const clock = new TestClock();
  const entry = entries.find((one) => one.command.name === command);
  const given = {
    args,
    flags: new Map(Object.entries(flags).map(([name, value]) => [name, [value]])),
    program: [],
  };
  let isOver = false;
  const ended = entry
    ?.start(given, {
      terminal: {
        print: (content) => void (stdout += String(content)),
        say: (sentence) => void (stderr += `${sentence}\n`),
        ...{ isInput: false, isOutput: false, isError: false, hasColors: false },
        rows: () => Infinity,
        readInput: async () => Buffer.from(input),
        askSecret: async () => "",
      },
      ...{ env, clock },
      untilStopped: () => new AbortController().signal,
      connect,
    })
    .catch((error: unknown) => {
      stderr += `${sentenceOf(error)}\n`;
      return exitCodeOf(error);
    })
    .finally(() => (isOver = true));
  while (!isOver) {
    await settled();
    if (!isOver) clock.advance(clock.untilNext ?? 0);
  }
  return { code: await ended, stdout, stderr };
}

/** The response to a request: a status and its content. */
export type FakeAnswer = readonly [status: number, content: unknown];

/** A cluster that answers as a function says, and the requests that it got. */
export function answeringCluster(answer: (call: ApiRequest) => FakeAnswer | Promise<never>): {
  readonly cluster: Cluster;
  readonly requests: ApiRequest[];
} {
  const requests: ApiRequest[] = [];
  const request = async (call: ApiRequest) => {
    requests.push(call);
    const [status, content] = await answer(call);
    return { status, text: JSON.stringify(content) };
  };
  return { cluster: clusterOver({ request }, fakeChoice), requests };
}

/** A metav1.Status of a refused request. */
export function refusal(code: number, reason: string, message: string): FakeAnswer {
  return [code, { kind: "Status", status: "Failure", code, reason, message }];
}
