import type { Client } from "../kube/client.ts";
import type { ConnectorDataDeps } from "./connector-data.ts";
import type { CopyDeps } from "./copy.ts";
import type { EndpointTokenDeps } from "./endpoint-token.ts";
import type { OwnedAccessKeyDeps } from "./owned-access-key.ts";
import type { RequesterGrantDeps } from "./requester-grant.ts";
import type { RevokedTokensDeps } from "./revoked-tokens.ts";
import type { SharedSecretDeps } from "./shared-secret.ts";
import type { SigningKeysDeps } from "./signing-keys.ts";

/** Dependencies of all reconcilers. */
export type ReconcileDeps = SharedSecretDeps &
  Omit<CopyDeps, "client"> &
  OwnedAccessKeyDeps &
  EndpointTokenDeps &
  RequesterGrantDeps &
  ConnectorDataDeps &
  RevokedTokensDeps &
  SigningKeysDeps & {
    /** A client with its own connections, only used for copies. */
    readonly copyClient: Client;
  };
