import type { OwnedAccessKeyConfig } from "../domain/access-key/owned-access-key.ts";
import type { KeyRotationConfig } from "../domain/endpoint-token/key-rotation.ts";
import type { EndpointTokenConfig } from "../domain/endpoint-token/token-state.ts";
import type { Prefixes } from "../domain/names.ts";
import type { NamespaceOptions } from "../domain/sync/sync-target.ts";
import type { TokenQuotaConfig } from "./memory.ts";

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
  /** Maximum number of concurrent reconciles of a kind. */
  readonly workers: number;
  /** Maximum number of concurrent reconciles of targets. */
  readonly writers: number;
  /**
   * How long grants are kept after a deletion, and the object after its grants, in milliseconds.
   */
  readonly grantSettleTime: number;
}
