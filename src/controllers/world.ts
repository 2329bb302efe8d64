import type { OwnedAccessKeyConfig } from "../domain/access-key/owned-access-key.ts";
import type { KeyRotationConfig } from "../domain/endpoint-token/key-rotation.ts";
import type { EndpointTokenConfig } from "../domain/endpoint-token/token-state.ts";
import type { Prefixes } from "../domain/access-key/key-identity.ts";
import type { KeyResolver } from "../domain/access-key/key-resolver.ts";
import type { CentralEnqueuer } from "./central-enqueuer.ts";
import type { LeaderMemory, TokenQuotaConfig } from "./memory.ts";
import type { Stores } from "./stores.ts";
import type { SyncOptions, SyncWorld } from "./sync-world.ts";

/** Options of the controller; durations in seconds. */
export interface ControllerOptions
  extends
    OwnedAccessKeyConfig,
    EndpointTokenConfig,
    KeyRotationConfig,
    TokenQuotaConfig,
    SyncOptions {
  readonly prefixes: Prefixes;
  /** Maximum bytes of the Secrets in the outbox of a connected cluster. */
  readonly maximumOutboxBytes: number;
  /**
   * How long grants are kept after a deletion, and the object after its grants, in milliseconds.
   */
  readonly grantSettleTime: number;
}

/** The world of the leader of the central cluster. */
export interface World extends SyncWorld {
  readonly stores: Stores;
  readonly memory: LeaderMemory;
  readonly options: ControllerOptions;
  readonly enqueuer: CentralEnqueuer;
  readonly keyResolver: KeyResolver;
  /** Until when the store of keys is complete, in milliseconds since the epoch. */
  readonly keysAsOf: () => number;
}
