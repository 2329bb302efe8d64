import type { NamespaceOptions } from "../domain/sync/obstacles.ts";
import type { Logger } from "../runtime/log.ts";
import type { Enqueuer } from "./enqueuer.ts";
import type { OwnWrites, SyncState } from "./sync-state.ts";

/** Options of every process that reconciles copies. */
export interface SyncOptions extends NamespaceOptions {
  /** Latchkey's own namespace. */
  readonly namespace: string;
  /** Maximum number of concurrent reconciles of a kind. */
  readonly workers: number;
  /** Maximum number of concurrent reconciles of targets. */
  readonly writers: number;
}

/** The world of a leader: nothing in it waits, and nothing in it sends a request. */
export interface SyncWorld extends SyncState, OwnWrites {
  readonly options: SyncOptions;
  readonly enqueuer: Enqueuer;
  readonly log: Pick<Logger, "info" | "warn">;
}
