import type { Cli } from "../../src/client/cli.ts";
import { type Cluster, clusterOver } from "../../src/client/connection/cluster.ts";
import type { ApiRequest } from "../../src/kube/client/transport.ts";
import { fakeChoice, objectText } from "./fake-cluster.ts";
import { runInMemory } from "./memory-cli.ts";

/** A command with its words; flags are named as on the command line, a switch is empty. */
export interface CommandRun {
  readonly command: string;
  readonly args?: readonly string[];
  readonly flags?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly connect: Cli["connect"];
}

/** Runs a command without a terminal. */
export async function runCommand({ command, args = [], flags = {}, ...given }: CommandRun) {
  const words = Object.entries(flags).map(([name, value]) =>
    value === "" ? `--${name}` : `--${name}=${value}`,
  );
  const { stored: _, ...ended } = await runInMemory(
    [...command.split(" "), ...args, ...words],
    given,
  );
  return ended;
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
    return { status, text: objectText(content) };
  };
  return { cluster: clusterOver({ request }, fakeChoice), requests };
}

/** A metav1.Status of a refused request. */
export function refusal(code: number, reason: string, message: string): FakeAnswer {
  return [code, { kind: "Status", status: "Failure", code, reason, message }];
}
