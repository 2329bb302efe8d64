import { createInterface } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";
import { UsageError } from "../runtime/config-values.ts";
import type { Environment } from "../runtime/options.ts";
import { errorCode, mostInputBytes } from "../runtime/read-text-file.ts";
import { printable } from "./failure.ts";
import { programName } from "./help.ts";

/** The standard streams of the command line, and what it asks its user. */
export interface Terminal {
  /** Writes to the standard output. */
  readonly print: (content: string | Uint8Array) => void;
  /** Writes a line to the standard error, which begins with the program's name. */
  readonly say: (sentence: string) => void;
  readonly isInput: boolean;
  readonly isOutput: boolean;
  /** Whether the standard error is a terminal, which gets progress. */
  readonly isError: boolean;
  readonly hasColors: boolean;
  /** Reads the standard input to its end. */
  readonly readInput: () => Promise<Buffer>;
  /** Asks for a line on the terminal. */
  readonly ask: (prompt: string) => Promise<string>;
  /** The same without an echo. */
  readonly askSecret: (prompt: string) => Promise<string>;
}

/** The standard streams of a process. */
interface StandardStreams {
  readonly stdin: ReadStream & { readonly fd: 0 };
  readonly stdout: WriteStream & { readonly fd: 1 };
  readonly stderr: WriteStream & { readonly fd: 2 };
}

/**
 * The terminal of this process; `onLost` is called if a part of the output could not be written.
 */
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
    readInput: () => readWhole(stdin),
    ask: (prompt) => ask(prompt, { stdin, stderr, hasEcho: true }),
    askSecret: (prompt) => ask(prompt, { stdin, stderr, hasEcho: false }),
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

/** The streams of a terminal that asks. */
interface AskingTerminal {
  readonly stdin: NodeJS.ReadableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Without it, what is typed is not shown. */
  readonly hasEcho: boolean;
}

/** Reads a line of a terminal in raw mode; empty if the input ends before. */
export function ask(prompt: string, { stdin, stderr, hasEcho }: AskingTerminal): Promise<string> {
  // readline writes its echo to the output that it is given: to none.
  const echo = hasEcho ? { output: stderr, prompt } : {};
  const lines = createInterface({ input: stdin, terminal: true, ...echo });
  // Not before the terminal is in raw mode: what is pasted at once would be shown.
  if (hasEcho) lines.prompt();
  else stderr.write(prompt);
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
      if (!hasEcho) stderr.write("\n");
      resolve(answer);
    });
  });
}

/** The part of a process that ends a command which would run forever. */
interface StoppableProcess {
  on(event: StopEvent, listener: () => void): unknown;
  readonly stdout: { once(event: "error" | "close", listener: () => void): unknown };
}

const stopEvents = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type StopEvent = (typeof stopEvents)[number];

/**
 * Aborts at SIGINT, SIGTERM and SIGHUP, and when the reader of the standard output, such as head,
 * has enough. A second signal ends the process at once.
 */
export function stopSignal(process: StoppableProcess, exit: (code: number) => void): AbortSignal {
  const stop = new AbortController();
  for (const event of stopEvents)
    process.on(event, () => {
      if (stop.signal.aborted) exit(1);
      stop.abort();
    });
  for (const event of ["error", "close"] as const) process.stdout.once(event, () => stop.abort());
  return stop.signal;
}
