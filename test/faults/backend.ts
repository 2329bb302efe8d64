import type { FaultProxy, ProxyOptions } from "../support/fault-proxy.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";
import type { View } from "../support/visible-objects.ts";
import type { Logbook } from "./logbook.ts";
import type { ProgramName } from "./programs.ts";
import type { Change } from "./scenario.ts";
import type { Step } from "../support/actions.ts";

/** One of Latchkey's programs behind a proxy of its own. */
export interface Instance {
  /** Names the process; another one after each restart. */
  readonly process: string;
  readonly proxy: FaultProxy;
  readonly isPaused: boolean;
  /** Takes its turn away, as SIGSTOP does: what is on its way to it or from it waits. */
  pause(): void;
  /** Gives its turn back, as SIGCONT does. */
  resume(): void;
}

/** What to start: another identity than before competes for the Lease. */
export interface Start {
  readonly program: ProgramName;
  readonly identity?: string;
}

/** Runs Latchkey's programs, in this process or as processes of their own. */
export interface Backend<I extends Instance = Instance> {
  readonly instances: Iterable<I>;
  /** Starts a program. */
  start(what: Start): Promise<I>;
  /** Starts what a run needs and what does not run at all. */
  startMissing(): Promise<void>;
  /** Ends an instance as kill -9 does. */
  kill(instance: I): void | Promise<void>;
  /** Ends all instances for good, and reports what their logs call mistakes. */
  stop(): Promise<void>;
  /** Waits until nothing is to be done; throws when that takes too long. */
  untilQuiet(): Promise<void>;
  /** Lets a time pass in which a program that has nothing to do asks for no write. */
  idle(): Promise<void>;
  /** Waits before a request is sent again; throws when it has failed too often. */
  beforeRetry(tries: number, last: string): Promise<void>;
  /** Plays a change of a scenario that is more than requests. */
  change(change: Exclude<Change, Step>): Promise<void>;
}

/** What instances of a backend are. */
export type InstanceOf<B extends Backend> = B extends Backend<infer I> ? I : never;

/** What a run gives its backend. */
export interface BackendContext<I extends Instance> {
  readonly cluster: ProxiedCluster;
  readonly view: View;
  readonly logbook: Logbook;
  /** How the traffic of an instance is steered and recorded. */
  readonly traffic: (instance: () => I) => Pick<ProxyOptions, "steering" | "events">;
  readonly onMistake: (mistake: string) => void;
}

/**
 * Whether a log line stands for a mistake of Latchkey's own. A lost Lease is an error too, and a
 * fault may mean it.
 */
export function isMistake(level: string | undefined, message: string | undefined): boolean {
  return level === "error" && message !== "Lease lost";
}

/** What a run says that never settles. */
export function neverSettles({ ledger }: Logbook): string {
  return `never settles: ${ledger.asked.slice(-5).join("; ")}`;
}
