import type { FaultProxy, ProxyOptions } from "../support/fault-proxy.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { View } from "../support/visible-objects.ts";
import type { Logbook } from "./logbook.ts";
import type { ProgramName } from "./programs.ts";
import type { Change, WithObject } from "./scenario.ts";
import type { Step } from "../support/actions.ts";

/** One of Latchkey's programs behind its own proxy. */
export interface Instance {
  /** Identifies the process; different after each restart. */
  readonly process: string;
  readonly proxy: FaultProxy;
  readonly isPaused: boolean;
  /** Suspends it as SIGSTOP does: traffic to it and from it waits. */
  pause(): void;
  /** Resumes it as SIGCONT does. */
  resume(): void;
}

/** The program to start: a different identity competes for the Lease. */
export interface Start {
  readonly program: ProgramName;
  readonly identity?: string;
}

/** Runs Latchkey's programs, in this process or as separate processes. */
export interface Backend<I extends Instance = Instance> {
  readonly instances: Iterable<I>;
  /** Starts a program. */
  start(what: Start): Promise<I>;
  /** Starts the programs of a run that are not running. */
  startMissing(): Promise<void>;
  /** Kills an instance like kill -9. */
  kill(instance: I): void | Promise<void>;
  /** Stops all instances, and reports the unexpected errors in their logs. */
  stop(): Promise<void>;
  /** Waits until the system is idle; throws if that takes too long. */
  untilQuiet(): Promise<void>;
  /** Waits for a time in which an idle program must not write. */
  idle(): Promise<void>;
  /** Waits before a request is repeated; throws after too many failures. */
  beforeRetry(tries: number, last: string): Promise<void>;
  /** Runs a change of a scenario that is more than requests. */
  change(change: Exclude<Change, Step | WithObject>): Promise<void>;
}

/** The type of the instances of a backend. */
export type InstanceOf<B extends Backend> = B extends Backend<infer I> ? I : never;

/** What a run passes to its backend. */
export interface BackendContext<I extends Instance> {
  readonly cluster: ProxiedCluster;
  readonly view: View;
  readonly logbook: Logbook;
  /** How the traffic of an instance is manipulated and recorded. */
  readonly traffic: (instance: () => I) => Pick<ProxyOptions, "steering" | "events">;
  readonly onMistake: (mistake: string) => void;
}

/**
 * Whether a log line reports an unexpected error of Latchkey. A lost Lease is logged as an error
 * too, but faults may cause it.
 */
export function isMistake(level: string | undefined, message: string | undefined): boolean {
  return level === "error" && message !== "Lease lost";
}

/** The error of a run that does not become idle; `states` are those of its instances. */
export function neverSettles({ ledger }: Logbook, states: readonly string[] = []): string {
  return [`never settles: ${ledger.asked.slice(-5).join("; ")}`, ...states].join("\n");
}
