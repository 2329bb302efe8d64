import { spawn } from "node:child_process";

/** A program that answers each line of JSON on its standard input with a line of JSON. */
export interface LineProgram {
  readonly pid: number;
  /** The answer to each question, in their order. */
  ask(questions: readonly unknown[]): Promise<readonly unknown[]>;
  stop(): void;
}

/** Starts a program that exits at the end of its standard input, and so with this process. */
export function startLineProgram(
  [program = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): LineProgram {
  const child = spawn(program, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  const death = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${program} ended with exit code ${code}`)));
  });
  death.catch(() => {});
  child.stdin.on("error", () => {});
  const lines = linesOf(child.stdout.setEncoding("utf8"));
  let last: Promise<unknown> = Promise.resolve();
  const exchange = async (questions: readonly unknown[]): Promise<readonly unknown[]> => {
    child.stdin.write(questions.map((question) => `${JSON.stringify(question)}\n`).join(""));
    return Promise.race([lines(questions.length), death]);
  };
  return {
    pid: child.pid ?? 0,
    ask(questions) {
      const answers = last.then(() => exchange(questions));
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
