import { createInterface } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import { UsageError } from "../../runtime/config-values.ts";
import type { Environment } from "../../runtime/options.ts";
import { errorCode, mostInputBytes } from "../../runtime/read-text-file.ts";
import { printable } from "./failure.ts";
import { programName } from "./help.ts";
import type { Terminal } from "./terminal.ts";

/** The standard streams of a process. */
interface StandardStreams {
  readonly stdin: ReadStream & { readonly fd: 0 };
  readonly stdout: WriteStream & { readonly fd: 1 };
  readonly stderr: WriteStream & { readonly fd: 2 };
}

/** The terminal of this process; `onLost` is called if a part of the output could not be written. */
export function systemTerminal(
  { stdin, stdout, stderr }: StandardStreams,
  env: Environment,
  onLost: () => void,
): Terminal {
  // A sentence may quote what a server or a user wrote.
  const say = (sentence: string): void =>
    void stderr.write(`${programName}: ${printable(sentence)}\n`);
  stderr.on("error", () => {});
  stdout.on("error", (error) => {
    // A reader that needs no more, such as head, closes the pipe: the rest is not an error.
    if (errorCode(error) === "EPIPE") return;
    say(`the output cannot be written: ${errorCode(error)}`);
    onLost();
  });
  return {
    print: (content) => void stdout.write(content),
    say,
    isInput: stdin.isTTY === true,
    isOutput: stdout.isTTY === true,
    isError: stderr.isTTY === true,
    hasColors: stdout.isTTY === true && (env["NO_COLOR"] ?? "") === "",
    rows: () => (stdout.isTTY === true ? stdout.rows : Infinity),
    readInput: () => readWhole(stdin),
    askSecret: (prompt) => askSecret(prompt, { stdin, stderr }),
  };
}

/** Reads until the end of an input; rejects with a UsageError if it has none. */
export async function readWhole(input: AsyncIterable<string | Uint8Array>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    length += bytes.length;
    if (length > mostInputBytes)
      throw new UsageError(`the standard input is larger than ${mostInputBytes} bytes`);
  }
  return Buffer.concat(chunks);
}

/** Reads a line of a terminal in raw mode, which has no echo. */
function askSecret(
  prompt: string,
  { stdin, stderr }: Pick<StandardStreams, "stdin" | "stderr">,
): Promise<string> {
  stderr.write(prompt);
  // readline writes its echo to the output that it is given: to none.
  const lines = createInterface({ input: stdin, terminal: true });
  return new Promise((resolve) => {
    let answer = "";
    lines.once("line", (line) => {
      answer = line;
      lines.close();
    });
    lines.once("SIGINT", () => {
      stderr.write("\n");
      process.exit(130);
    });
    lines.once("close", () => {
      stderr.write("\n");
      resolve(answer);
    });
  });
}
