import type { Client } from "../kube/client.ts";
import type { ConnectorDataDeps } from "./connector-data.ts";
import type { CopyDeps } from "./copy.ts";
import type { EndpointTokenDeps } from "./endpoint-token.ts";
import type { OwnedAccessKeyDeps } from "./owned-access-key.ts";
import type { RequesterGrantDeps } from "./requester-grant.ts";
import type { SharedSecretDeps } from "./shared-secret.ts";
import type { SigningKeysDeps } from "./signing-keys.ts";

/** What the reconcilers need all together; each takes its part. */
export type ReconcileDeps = SharedSecretDeps &
  Omit<CopyDeps, "client"> &
  OwnedAccessKeyDeps &
  EndpointTokenDeps &
  RequesterGrantDeps &
  ConnectorDataDeps &
  SigningKeysDeps & {
    /** Has connections of its own, for copies alone. */
    readonly copyClient: Client;
  };
