import { gatewayFieldManager, group } from "../api/names.ts";
import { type AccessKeyCache, createAccessKeyCache } from "../authn/access-key-cache.ts";
import { serviceCertificates } from "../authn/service-certificates.ts";
import { SecondLooks } from "../authn/identify-key.ts";
import { KeyMismatches } from "../authn/key-mismatch.ts";
import { LastActivity } from "../authn/last-activity.ts";
import type { KeyConfig } from "../domain/access-key/key-state.ts";
import { liveLimits } from "../domain/gateway/live-limits.ts";
import { gatewayRoutes } from "../domain/gateway/request-target.ts";
import type { Client } from "../kube/client.ts";
import type { Credentials } from "../kube/credentials.ts";
import { createDiscovery } from "../kube/discovery.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { createForwarder } from "../kube/forwarder.ts";
import { provingWatchTimes } from "../kube/freshness.ts";
import { createClient } from "../kube/http-client.ts";
import type { InformerDeps } from "../kube/informer.ts";
import { createListWatch } from "../kube/list-watch.ts";
import { Recovery } from "../kube/recovery.ts";
import { createTransport, type Transport } from "../kube/transport.ts";
import { Yielder } from "../kube/yielder.ts";
import { ByteBudget } from "../runtime/body.ts";
import type { Clock } from "../runtime/clock.ts";
import { gatewayMetrics } from "../runtime/gateway-metrics.ts";
import type { ServerTls } from "../runtime/http-server.ts";
import type { Logger } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { PublishedClusterList } from "./published-cluster-list.ts";
import { connectCluster } from "./connect-cluster.ts";
import { ConnectedClusters, type ConnectedClustersDeps } from "./connected-clusters.ts";
import { ImpersonationRight } from "./impersonation-right.ts";
import { headTimeoutMs } from "./forward-upgrade.ts";
import { type GatewayHandler, gatewayHandler } from "./gateway-handler.ts";
import { keyAuthenticator } from "./key-authenticator.ts";
import { LiveRequests } from "./live-requests.ts";
import { findUpstreamIn } from "./upstreams.ts";

/** How a gateway process behaves. */
export interface GatewayOptions extends KeyConfig {
  readonly serviceName: string;
  readonly externalNames: readonly string[];
  readonly externalUrl: string | undefined;
}

/** What a gateway process is made of. */
export interface GatewayProcessDeps {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The gateway with its ways to the API server, without its servers. */
export interface GatewayAssembly {
  readonly accessKeys: AccessKeyCache;
  readonly handler: GatewayHandler;
  readonly live: LiveRequests;
  /** Why no request can be served, in one sentence each; empty if requests can. */
  problems(): readonly string[];
  /** Sets the CA of the certificates that clients see (PEM). */
  useCa(ca: string): void;
  /**
   * Follows the API server, and writes last uses and the list of connected clusters, until the
   * signal aborts.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Creates, renews and watches the certificates in Latchkey's own Secret. */
  keepCertificates(signal: AbortSignal, onTls: (material: ServerTls) => void): Promise<void>;
  close(): Promise<void>;
}

/** Bodies that are read as a whole, all together. */
const mostBodyBytes = 64 * 1024 * 1024;
const requestTimeoutMs = 10_000;
/** Connections for requests of the gateway itself. */
const ownConnections = 8;
/** Connections for requests of clients with a short answer. */
const mostAnswers = 128;

/** Builds a gateway process without its servers; nothing runs yet. */
export function assembleGateway(
  options: GatewayOptions,
  deps: GatewayProcessDeps,
): GatewayAssembly {
  const { credentials, clock, log, metrics } = deps;
  const transport = ownTransport(deps);
  const client = createClient(transport, gatewayFieldManager);
  const following = informerDeps(transport, deps);
  const live = new LiveRequests({
    ...{ clock, yielder: following.yielder },
    isFresh: () => accessKeys.isFresh(),
    onCut: (reason) => metrics.gateway.cuts(reason),
  });
  const accessKeys = createAccessKeyCache(
    { ...following, onChange: () => live.changed() },
    options,
  );
  exposeCache(metrics, { accessKeys, live });
  const lastActivity = new LastActivity({ ...following, accessKeys, client, metrics });
  const events = eventRecorder(client, options, deps);
  const mismatches = new KeyMismatches({ events, clock });
  const discovery = createDiscovery({ transport, clock, log });
  const forwarder = createForwarder({
    ...{ credentials, clock, headTimeoutMs },
    connections: mostAnswers,
  });
  const { clusters, clusterList } = connectedClusters(
    { ...following, client, events, onChange: () => live.changed() },
    options,
    deps,
  );
  const handler = gatewayHandler({
    ...{ clock, live, log, routes: gatewayRoutes },
    authenticator: keyAuthenticator({
      ...{ accessKeys, clock },
      onUse: (key) => lastActivity.note(key),
      secondLooks: new SecondLooks(),
      onMismatch: (sharingIndex) => mismatches.note(sharingIndex),
      onResult: (result) => metrics.gateway.authentications(result),
    }),
    findUpstream: findUpstreamIn({ credentials, discovery, forwarder }, (name) =>
      clusters.find(name),
    ),
    ...{ limits: liveLimits, budget: new ByteBudget(mostBodyBytes) },
    metrics: gatewayMetrics(metrics),
  });
  const impersonation = new ImpersonationRight({ client, clock, transport });
  const parts = [accessKeys, lastActivity, discovery, clusters, clusterList, impersonation];
  return {
    ...{ accessKeys, handler, live },
    problems: () => [...accessKeys.staleReasons(), ...impersonation.problems()],
    useCa: (ca) => clusterList.useCa(ca),
    run: (signal) => runAll(parts, { live, signal }),
    keepCertificates: (signal, onTls) =>
      serviceCertificates("gateway", options, { ...following, client, metrics, onTls }).run(signal),
    close: async () => void (await Promise.all([transport.close(), forwarder.close()])),
  };
}

async function runAll(
  parts: readonly { run(signal: AbortSignal): Promise<void> }[],
  { live, signal }: { readonly live: LiveRequests; readonly signal: AbortSignal },
): Promise<void> {
  live.watchFreshness(signal);
  await Promise.all(parts.map((part) => part.run(signal)));
}

/** The connected clusters, and the list of them that clients read. */
function connectedClusters(
  following: Omit<ConnectedClustersDeps, "connect"> & { readonly client: Client },
  options: GatewayOptions,
  deps: GatewayProcessDeps,
): { readonly clusters: ConnectedClusters; readonly clusterList: PublishedClusterList } {
  const clusters = new ConnectedClusters({
    ...following,
    connect: (access) => connectCluster(access, deps),
    onChange() {
      following.onChange();
      clusterList.changed();
    },
  });
  const { metrics } = deps;
  const clusterList = new PublishedClusterList({ ...following, metrics, clusters }, options);
  return { clusters, clusterList };
}

function eventRecorder(
  client: Client,
  { serviceName: identity }: GatewayOptions,
  { clock, log }: GatewayProcessDeps,
): EventRecorder {
  return new EventRecorder({ client, clock, log, reporter: `${group}/latchkey`, identity });
}

function exposeCache(
  metrics: Metrics,
  { accessKeys, live }: Pick<GatewayAssembly, "accessKeys" | "live">,
): void {
  metrics.watches(() => accessKeys.watches());
  metrics.cacheFresh("accesskeys", () => accessKeys.isFresh());
  metrics.gateway.live(() => live.counts());
}

function ownTransport({ credentials, clock, metrics }: GatewayProcessDeps): Transport {
  const { host } = new URL(credentials.server);
  return createTransport({
    credentials,
    clock,
    connections: ownConnections,
    timeoutMs: requestTimeoutMs,
    onResponse: (seen) => metrics.request({ ...seen, host }),
  });
}

function informerDeps(
  transport: Transport,
  { clock, random, log }: GatewayProcessDeps,
): InformerDeps {
  return {
    ...{ clock, log, random },
    listWatch: createListWatch(transport, clock),
    yielder: new Yielder(clock),
    watchTimes: provingWatchTimes,
    recovery: new Recovery(),
  };
}
