import { gatewayFieldManager } from "../api/names.ts";
import type { ClusterAccess } from "../domain/gateway/cluster-kubeconfig.ts";
import type { Credentials } from "../kube/credentials.ts";
import { createDiscovery } from "../kube/discovery.ts";
import { createForwarder } from "../kube/forwarder.ts";
import { createClient } from "../kube/http-client.ts";
import { createTransport } from "../kube/transport.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { clusterConnection } from "../tokens/cluster-credential.ts";
import { SecretGuard } from "./secret-guard.ts";
import type { ConnectedUpstream } from "./connected-clusters.ts";
import { headTimeoutMs } from "./forward-upgrade.ts";

/** Connections to one cluster for requests with a short answer. */
const connections = 64;
const requestTimeoutMs = 10_000;

/** Opens the way to a connected cluster; connections are made when they are used. */
export function connectCluster(
  access: ClusterAccess,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): ConnectedUpstream {
  const { server, tls, authorization } = clusterConnection(access);
  const credentials: Credentials = {
    server,
    tls,
    authorization: () => Promise.resolve(authorization),
    forget() {},
  };
  const transport = createTransport({
    ...{ credentials, clock },
    connections: 2,
    timeoutMs: requestTimeoutMs,
  });
  const forwarder = createForwarder({ credentials, clock, headTimeoutMs, connections });
  return {
    credentials,
    forwarder,
    discovery: createDiscovery({ transport, clock, log }),
    secrets: new SecretGuard({ client: createClient(transport, gatewayFieldManager), clock }),
    close: async () => void (await Promise.all([transport.close(), forwarder.close()])),
  };
}
