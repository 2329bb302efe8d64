import { spawn } from "node:child_process";
import { join } from "node:path";
import { buildModule, findGo, type GoModule } from "./go-module.ts";

/** A request as kube-apiserver receives it. */
export interface SentRequest {
  readonly method: string;
  readonly target: string;
}

/** Reads requests as kube-apiserver does (k8s.io/apiserver, RequestInfoFactory). */
export interface RequestInfoOracle {
  /**
   * The RequestInfo of each request, in the form of a ReviewedRequest; an object with `error` if
   * kube-apiserver rejects it.
   */
  ask(requests: readonly SentRequest[]): Promise<readonly unknown[]>;
  stop(): void;
}

/** The program behind the oracle. */
export const oracleModule: GoModule = {
  directory: join(import.meta.dirname, "oracle"),
  name: "request info oracle",
  takes: "1 minute",
  packages: ".",
};

/** Starts the oracle, and builds it if necessary; undefined if Go is not installed. */
export async function startRequestInfoOracle(
  report: (line: string) => void,
): Promise<RequestInfoOracle | undefined> {
  const go = findGo(oracleModule, process.env);
  if (go === undefined) return undefined;
  const programs = await buildModule(oracleModule, go, { report });
  return startProgram(join(programs, "oracle"));
}

/** The program exits at the end of its standard input, and so with this process. */
function startProgram(program: string): RequestInfoOracle {
  const child = spawn(program, [], { stdio: ["pipe", "pipe", "inherit"] });
  const death = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${program} ended with exit code ${code}`)));
  });
  death.catch(() => {});
  child.stdin.on("error", () => {});
  const lines = linesOf(child.stdout.setEncoding("utf8"));
  let last: Promise<unknown> = Promise.resolve();
  const exchange = async (requests: readonly SentRequest[]): Promise<readonly unknown[]> => {
    child.stdin.write(requests.map((request) => `${JSON.stringify(request)}\n`).join(""));
    return Promise.race([lines(requests.length), death]);
  };
  return {
    ask(requests) {
      const answers = last.then(() => exchange(requests));
      last = answers.catch(() => {});
      return answers;
    },
    stop: () => void child.stdin.end(),
  };
}

/** Reads lines of JSON from a stream, as many as the caller asks for. */
function linesOf(stream: NodeJS.ReadableStream): (count: number) => Promise<readonly unknown[]> {
  let rest = "";
  let parsed: unknown[] = [];
  let onLines = (): void => {};
  stream.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) parsed.push(JSON.parse(line));
    onLines();
  });
  return (count) =>
    new Promise((resolve) => {
      onLines = () => {
        if (parsed.length < count) return;
        const answers = parsed;
        parsed = [];
        onLines = () => {};
        resolve(answers);
      };
      onLines();
    });
}
