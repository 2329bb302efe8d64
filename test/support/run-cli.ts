import { spawn } from "node:child_process";
import { join } from "node:path";
import { inject } from "vitest";
import type { CliForm } from "./cli-bundle.ts";
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
export function cliForm(): CliForm {
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

/** Runs the client as a process, as a user, without a terminal. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
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
