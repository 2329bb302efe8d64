import type { OwnedAccessKeyConfig } from "../domain/access-key/owned-access-key.ts";
import type { KeyRotationConfig } from "../domain/endpoint-token/key-rotation.ts";
import type { EndpointTokenConfig } from "../domain/endpoint-token/token-state.ts";
import type { Prefixes } from "../domain/access-key/key-identity.ts";
import type { NamespaceOptions } from "../domain/sync/obstacles.ts";
import type { KeyResolver } from "../authn/key-resolver.ts";
import type { Logger } from "../runtime/log.ts";
import type { Enqueuer } from "./enqueuer.ts";
import type { LeaderState, TokenQuotaConfig } from "./memory.ts";
import type { OwnWrites } from "./stores.ts";

/** Options of the controller; durations in seconds. */
export interface ControllerOptions
  extends
    OwnedAccessKeyConfig,
    EndpointTokenConfig,
    KeyRotationConfig,
    TokenQuotaConfig,
    NamespaceOptions {
  readonly namespace: string;
  readonly prefixes: Prefixes;
  /** Maximum bytes of the Secrets in the outbox of a connected cluster. */
  readonly maximumOutboxBytes: number;
  /** Maximum number of concurrent reconciles of a kind. */
  readonly workers: number;
  /** Maximum number of concurrent reconciles of targets. */
  readonly writers: number;
  /**
   * How long grants are kept after a deletion, and the object after its grants, in milliseconds.
   */
  readonly grantSettleTime: number;
}

/** The world of a leader: nothing in it waits, and nothing in it sends a request. */
export interface World extends LeaderState, OwnWrites {
  readonly options: ControllerOptions;
  readonly enqueuer: Enqueuer;
  readonly keyResolver: KeyResolver;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Until when the store of keys is complete, in milliseconds since the epoch. */
  readonly keysAsOf: () => number;
}
