import type { Clock } from "../runtime/clock.ts";
import type { ConfigOf, Environment } from "../runtime/options.ts";
import type { commands } from "./commands.ts";
import type { Cluster } from "./connection/cluster.ts";
import type { ConnectionFlags } from "./connection/connection-options.ts";
import type { Terminal } from "./terminal.ts";

/** The process that a command runs in. */
export interface CliProcess {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly clock: Clock;
  /** Returns a signal that aborts when the user or the system ends a command that runs on. */
  readonly untilStopped: () => AbortSignal;
}

/** What a command runs with. */
export interface Cli extends CliProcess {
  /** Connects as the flags and the kubeconfig say; the connection is closed after the command. */
  readonly connect: (flags: ConnectionFlags) => Promise<Cluster>;
}

/** What the code of a command works with once it has connected. */
export interface ConnectedCli {
  readonly cluster: Cluster;
  readonly cli: Cli;
}

type Commands = typeof commands;

/** The values of the options of a command, and of the connection. */
export type Flags<Name extends keyof Commands> = ConfigOf<Commands[Name]["options"]> &
  ConnectionFlags;

/** A parsed command line. */
interface Invocation<Name extends keyof Commands> {
  readonly flags: Flags<Name>;
  readonly args: readonly string[];
  /** The words after `--`. */
  readonly program: readonly string[];
}

/** The code of a command; returns the exit code, 0 if it returns none. */
export type Action<Name extends keyof Commands> = (
  invocation: Invocation<Name>,
  cli: Cli,
) => Promise<number | void>;

/** The code of every command, which is loaded when the command runs. */
export type Actions = { readonly [Name in keyof Commands]: () => Promise<Action<Name>> };
