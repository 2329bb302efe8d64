import { spawn } from "node:child_process";
import { join } from "node:path";
import { inject } from "vitest";
import { clientProgram } from "../../src/client/actions.ts";
import { runCommandLine } from "../../src/cli/command-line.ts";
import { printable } from "../../src/client/failure.ts";
import { programName } from "../../src/client/help.ts";
import type { Terminal } from "../../src/client/terminal.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { Environment } from "../../src/runtime/options.ts";
import type { CliForm } from "./cli-form.ts";
import { kubeconfigFor } from "./control-plane-handle.ts";

/** How the client runs. */
export interface CliOptions {
  /** A user of the control plane; `admin` by default. */
  readonly user?: string;
  /** The file of its kubeconfig, instead of that of the user. */
  readonly kubeconfig?: string;
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Whether it must be a process, such as for a test of its arguments. */
  readonly asProcess?: boolean;
  /** Whether kubectl runs it as its plugin. */
  readonly throughKubectl?: boolean;
}

/** The result of a run of the client. */
export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The words and the directory of the client in tests. */
export function cliForm(): CliForm & { readonly isProgram: boolean } {
  const cli = inject("cli");
  if (cli === undefined) throw new Error("there is no client in this run");
  return cli;
}

/** The variables of the client in tests. */
export function cliEnvironment({ user = "admin", kubeconfig, env = {} }: CliOptions) {
  const controlPlane = inject("controlPlane");
  const { PATH = "", HOME = "" } = process.env;
  return {
    PATH: `${cliForm().bin}:${PATH}`,
    HOME,
    KUBECONFIG: kubeconfig ?? kubeconfigFor(controlPlane, user),
    KUBECACHEDIR: join(controlPlane.directory, "kubectl-cache"),
    XDG_CACHE_HOME: join(controlPlane.directory, "cache"),
    KUBERC: "off",
    ...env,
  };
}

/** A client that runs until it is stopped. */
export interface RunningCli {
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Sends a signal, and waits for the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | string>;
}

/** Starts the client as a process, as a user, without a terminal. */
export function startCli(args: readonly string[], options: CliOptions = {}): RunningCli {
  const [command = "", ...words] = [...cliForm().words, ...args];
  const child = spawn(command, words, {
    env: cliEnvironment(options),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? ""));
  });
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    stop(signal = "SIGTERM") {
      child.kill(signal);
      return ended;
    },
  };
}

/** Whether a test needs a process: the client starts another, or something starts the client. */
function needsProcess(args: readonly string[], options: CliOptions): boolean {
  const starts = args.some((word) => ["run", "edit", "__complete", "completion"].includes(word));
  return (
    starts ||
    options.asProcess === true ||
    options.cwd !== undefined ||
    options.throughKubectl === true
  );
}

/**
 * Runs the client as a user, without a terminal: the bundle in the process of the test where that
 * makes no difference, which takes a tenth of the time, and else as a process.
 */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return cliForm().isProgram || needsProcess(args, options)
    ? runProcess(args, options)
    : runInProcess(args, cliEnvironment(options), options.input);
}

/** Runs the client in the process of the test, without a terminal. */
export async function runInProcess(
  args: readonly string[],
  env: Environment,
  input: string | Buffer = "",
): Promise<CliResult> {
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
  const into = (chunks: Buffer[]) => ({
    write: (content: string | Uint8Array) => void chunks.push(Buffer.from(content)),
  });
  const terminal: Terminal = {
    print: into(stdout).write,
    say: (sentence) => into(stderr).write(`${programName}: ${printable(sentence)}\n`),
    isInput: false,
    isOutput: false,
    isError: false,
    hasColors: false,
    readInput: async () => Buffer.from(input),
    ask: async () => "",
    askSecret: async () => "",
  };
  const deps = {
    terminal,
    env,
    clock: systemClock,
    untilStopped: () => new AbortController().signal,
  };
  const streams = { stdout: into(stdout), stderr: into(stderr) };
  const code = await runCommandLine(args, clientProgram(deps), streams);
  const text = (chunks: Buffer[]) => Buffer.concat(chunks).toString();
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

function runProcess(args: readonly string[], options: CliOptions): Promise<CliResult> {
  const [command = "", ...words] =
    options.throughKubectl === true
      ? [inject("controlPlane").kubectl, "latchkey", ...args]
      : [...cliForm().words, ...args];
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, {
      env: cliEnvironment(options),
      stdio: "pipe",
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? -1, stdout, stderr }));
    child.stdin.on("error", () => {});
    child.stdin.end(options.input ?? "");
  });
}
