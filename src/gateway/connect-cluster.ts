import { gatewayFieldManager } from "../api/names.ts";
import { clusterTime, readingBounds } from "../api/reading-bounds.ts";
import { GuardedNamespaces } from "../authn/guarded-namespaces.ts";
import { withLatchkeyNamespaces } from "../authn/latchkey-namespaces.ts";
import { oneLocation } from "../authn/request-locations.ts";
import { PolicyGuard } from "../policies/policy-guard.ts";
import type { ClusterAccess } from "../domain/gateway/cluster-kubeconfig.ts";
import { connectedPolicies } from "../domain/gateway/connected-policy.ts";
import type { RequestLocation } from "../domain/scope/scoped-request.ts";
import { createClient } from "../kube/client/client.ts";
import { createDiscovery } from "../kube/client/discovery.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { serverVersion } from "../kube/client/server-version.ts";
import { createTransport, type RoundTripper } from "../kube/client/transport.ts";
import type { Credentials } from "../kube/credentials/credentials.ts";
import type { ProxyOf } from "../kube/credentials/proxies.ts";
import { createForwarder } from "../kube/forward/forwarder.ts";
import { createListWatch } from "../kube/informer/list-watch.ts";
import type { Clock } from "../runtime/clock.ts";
import { FairShares } from "../runtime/fair-shares.ts";
import { aboutServer, type Logger } from "../runtime/log.ts";
import { TimeShare } from "../runtime/time-share.ts";
import type { Yielder } from "../runtime/yielder.ts";
import { clusterConnection } from "../tokens/cluster-credential.ts";
import type { ConnectedUpstream } from "./connected-clusters.ts";
import { headTimeoutMs } from "./forward-upgrade.ts";

/** Connections to one cluster for requests with a short answer. */
export const clusterAnswers = 64;
const requestTimeoutMs = 10_000;
/** Discovery documents of up to this size, those of most clusters, wait for no others. */
const smallBytes = readingBounds.clusterAnswer.bytes;
const discoveryBounds = {
  mostResources: 10_000,
  pauseMs: { first: 5_000, longest: 60_000 },
  document: readingBounds.clusterDocument,
} as const;

/** Large answers of connected clusters that are read at a time. */
export const mostLargeAnswers = 8;

/**
 * The large answers of all connected clusters of a gateway, shared by cluster. As a cluster has two
 * connections for them, four clusters that take their time leave a share for another one; more can
 * have all, for at most 10 seconds at a time.
 */
export function largeAnswers(): FairShares {
  return new FairShares({ all: mostLargeAnswers });
}

/** Dependencies of {@link connectCluster}. */
interface ConnectClusterDeps {
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly yielder: Yielder;
  /** Called when labels of namespaces there change, or whether they count. */
  readonly onChange: () => void;
  /** That of all connected clusters. */
  readonly large: FairShares;
  readonly proxyOf: ProxyOf;
}

/**
 * Opens the way to a connected cluster, where `base` is the location of every request; connections
 * are made when they are used.
 */
export function connectCluster(
  access: ClusterAccess,
  base: RequestLocation,
  { clock, log, large, proxyOf, ...deps }: ConnectClusterDeps,
): ConnectedUpstream {
  const { server, tls, authorization } = clusterConnection(access);
  const credentials: Credentials = {
    server,
    tls,
    proxy: proxyOf(server),
    authorization: () => Promise.resolve(authorization),
    forget() {},
  };
  const shared = { credentials, clock, connections: 2, timeoutMs: requestTimeoutMs };
  const documents = createTransport({
    ...shared,
    mostBytes: readingBounds.clusterDocument.bytes,
    large: { fromBytes: smallBytes, shares: large, sharer: { user: server, key: "" } },
  });
  const objects = createTransport({ ...shared, mostBytes: smallBytes });
  const client = createClient(objects, gatewayFieldManager);
  const named = aboutServer(log, server);
  const forwarder = createForwarder({
    credentials,
    clock,
    headTimeoutMs,
    connections: clusterAnswers,
  });
  const share = new TimeShare(clusterTime, clock);
  const event = readingBounds.clusterEvent;
  const listWatch = createListWatch(objects, clock, { event, share });
  // In the cluster of a project, labels of namespaces are those of a tenant.
  const labelled =
    base.project === undefined
      ? new GuardedNamespaces(base, { ...deps, client, clock, log: named, listWatch })
      : oneLocation(base);
  const locations = withLatchkeyNamespaces(labelled, { ...deps, client, clock });
  return {
    credentials,
    forwarder,
    locations,
    discovery: createDiscovery({
      transport: documents,
      clock,
      log: named,
      bounds: { ...discoveryBounds, share },
    }),
    secrets: new PolicyGuard(connectedPolicies.derivedCredentials, { client, clock }),
    isReachable: reachability(objects, { server, log }),
    get isThrottled() {
      return share.isExceeded;
    },
    close: async () =>
      void (await Promise.all(
        [locations, documents, objects, forwarder].map((part) => part.close()),
      )),
  };
}

/** Asks whether a cluster is reachable; the log says why it is not, once for each cause. */
function reachability(
  transport: RoundTripper,
  { server, log }: { readonly server: string; readonly log: Logger },
): () => Promise<boolean> {
  let said: string | undefined;
  return async () => {
    const why = await problemOf(transport);
    if (why === undefined && said !== undefined)
      log.info({ server }, "connected cluster is reached again");
    else if (why !== said) log.warn({ server, why }, "connected cluster cannot be reached");
    said = why;
    return why === undefined;
  };
}

/** A 403 is an answer to an accepted credential: clusters may restrict who reads their version. */
async function problemOf(transport: RoundTripper): Promise<string | undefined> {
  try {
    await serverVersion(transport);
    return undefined;
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return isKubeError(error, "Network", "ServerError", "Unauthorized") ? error.message : undefined;
  }
}
