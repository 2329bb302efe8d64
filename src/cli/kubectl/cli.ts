import type { Clock } from "../../runtime/clock.ts";
import type { Environment } from "../../runtime/options.ts";
import type { Cluster } from "./connection/cluster.ts";
import type { ConnectionFlags } from "./connection/connection-flags.ts";
import type { FlagsOf, FlagTable } from "./flag.ts";
import type { Terminal } from "./terminal.ts";

/** What a command runs with. */
export interface Cli {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly clock: Clock;
  /** Returns a signal that aborts when the user or the system ends a command that runs on. */
  readonly untilStopped: () => AbortSignal;
  /** Connects as the flags and the kubeconfig say; the connection is closed after the command. */
  readonly connect: (flags: ConnectionFlags) => Promise<Cluster>;
}

/** A parsed command line. */
export interface Invocation<Table extends FlagTable> {
  readonly flags: FlagsOf<Table> & ConnectionFlags;
  readonly args: readonly string[];
  /** The words after `--`. */
  readonly program: readonly string[];
}

/** The code of a command; returns the exit code, 0 if it returns none. */
export type Action<Table extends FlagTable> = (
  invocation: Invocation<Table>,
  cli: Cli,
) => Promise<number | void>;
