import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { Socket } from "node:net";

/** How a process ended: by an exit code, or by a signal. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A program that runs in parallel to this process and is killed when this process exits. */
export interface TiedChild {
  /** The pid of the program, not of a shell around it. */
  pid: number;
  /** Settles when the program has exited; never rejects. */
  exited: Promise<Exit>;
  /** Sends a signal; does nothing if the program has exited. */
  kill(signal: NodeJS.Signals): void;
  /** Sends SIGTERM, and SIGKILL to processes that still run after `graceMs` (10 s by default). */
  stop(graceMs?: number): Promise<Exit>;
}

/** The options of a tied child. */
export interface TiedChildOptions {
  /** The file of its standard output and standard error, which are appended. */
  log: string;
  cwd?: string;
  /** The complete environment; that of this process by default. */
  env?: NodeJS.ProcessEnv;
  /** A directory that is removed when this process exits without stopping the child. */
  removeWithParent?: string;
}

/*
 * The watcher has one end of a pipe (3) and this process the other. A goodbye line means that the
 * program has exited; end of file without it means that this process has exited, for any reason.
 * The shell then becomes the program (exec), which therefore keeps the pid; a session of its own
 * protects it from the terminal's Ctrl-C.
 */
const tie = `
remove=$1; shift
program=$$
(
  read -r goodbye <&3 && exit 0
  kill -KILL "$program" 2>/dev/null
  [ -z "$remove" ] || rm -rf "$remove"
  kill -KILL "-$program"
) &
exec "$@" 3<&-
`;

/**
 * Starts a program tied to this process by a pipe: it is killed when this process exits, even by
 * SIGKILL.
 */
export function startTiedChild(command: readonly string[], options: TiedChildOptions): TiedChild {
  const log = openSync(options.log, "a");
  const child = spawn("/bin/sh", ["-c", tie, "sh", options.removeWithParent ?? "", ...command], {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: ["ignore", log, log, "pipe"],
    detached: true,
  });
  closeSync(log);
  const pipe = child.stdio[3];
  if (!(pipe instanceof Socket))
    throw new Error("a child process came without the pipe that ties it");
  pipe.on("error", () => {});

  let running = true;
  const exited = new Promise<Exit>((resolve) => {
    const end = (exit: Exit) => {
      running = false;
      pipe.end("goodbye\n", () => pipe.destroy());
      resolve(exit);
    };
    child.once("exit", (code, signal) => end({ code, signal }));
    child.once("error", () => end({ code: 127, signal: null }));
  });
  const kill = (signal: NodeJS.Signals) => {
    if (running) child.kill(signal);
  };
  const stop = async (graceMs = 10_000) => {
    kill("SIGTERM");
    const patience = setTimeout(kill, graceMs, "SIGKILL");
    const exit = await exited;
    clearTimeout(patience);
    return exit;
  };
  return { pid: child.pid ?? 0, exited, kill, stop };
}

/** The last lines of a log file, for an error message; empty if the file does not exist. */
export function logTail(path: string, lines = 8): string {
  try {
    return readFileSync(path, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  } catch {
    return "";
  }
}

/** An exit in words, such as `exit code 1` or `SIGKILL`. */
export function describeExit(exit: Exit): string {
  return exit.signal ?? `exit code ${exit.code ?? "unknown"}`;
}
