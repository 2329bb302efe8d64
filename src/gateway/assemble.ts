import { gatewayFieldManager, group } from "../api/names.ts";
import {
  type AccessKeyCache,
  createAccessKeyCache,
  exposeFreshness,
} from "../authn/access-key-cache.ts";
import { Certificates } from "../certificates/certificates.ts";
import { identificationResults, UnknownKeyRetries } from "../authn/identify-key.ts";
import { exposeWatches } from "../kube/informer/watch-metrics.ts";
import { KeyMismatches } from "../authn/key-mismatch.ts";
import { LastActivity } from "../authn/last-activity.ts";
import type { KeyConfig } from "../domain/access-key/key-state.ts";
import { inFlightLimits } from "../domain/gateway/in-flight-limits.ts";
import { gatewayRoutes } from "../domain/gateway/request-target.ts";
import { type Client, createClient } from "../kube/client/client.ts";
import { createDiscovery } from "../kube/client/discovery.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { createForwarder } from "../kube/forward/forwarder.ts";
import {
  ownTransport,
  type ProcessConnectionDeps,
  provingInformerDeps,
} from "../kube/process-connection.ts";
import {
  authenticationCounter,
  cutCounter,
  exposeClusters,
  exposeRequests,
  gatewayMetrics,
} from "./gateway-metrics.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { bodyShares } from "./own-body.ts";
import { ClusterProbes } from "./cluster-probes.ts";
import { connectCluster, largeAnswers } from "./connect-cluster.ts";
import { ConnectedClusters, type ConnectedClustersDeps } from "./connected-clusters.ts";
import { headTimeoutMs } from "./forward-upgrade.ts";
import { gatewayHandler } from "./gateway-handler.ts";
import { ImpersonationRight } from "./impersonation-right.ts";
import { keyAuthenticator } from "./key-authenticator.ts";
import { cutReasons, InFlightRequests } from "./in-flight-requests.ts";
import { type FrontAssembly, mostAnswers, runAll } from "./process-parts.ts";
import { PublishedClusterList } from "./published-cluster-list.ts";
import { findUpstreamIn } from "./upstreams.ts";

/** How a gateway process behaves. */
interface GatewayOptions extends KeyConfig {
  readonly serviceName: string;
  readonly externalNames: readonly string[];
  readonly externalUrl: string | undefined;
}

/** The gateway with its ways to the API server, without its servers. */
interface GatewayAssembly extends FrontAssembly {
  readonly accessKeys: AccessKeyCache;
}

/** Builds a gateway process without its servers; nothing runs yet. */
export function assembleGateway(
  options: GatewayOptions,
  deps: ProcessConnectionDeps,
): GatewayAssembly {
  const { credentials, clock, log, metrics } = deps;
  const transport = ownTransport(deps);
  const client = createClient(transport, gatewayFieldManager);
  const following = provingInformerDeps(transport, deps);
  const inFlight = new InFlightRequests({
    ...{ clock, yielder: following.yielder },
    isFresh: () => accessKeys.isFresh(),
    onCut: cutCounter(cutReasons, metrics),
  });
  const accessKeys = createAccessKeyCache(
    { ...following, onChange: () => inFlight.changed() },
    options,
  );
  const lastActivity = new LastActivity({ ...following, accessKeys, client, metrics });
  const events = eventRecorder(client, options, deps);
  const mismatches = new KeyMismatches({ events, clock });
  const discovery = createDiscovery({ transport, clock, log });
  const forwarder = createForwarder({
    ...{ credentials, clock, headTimeoutMs },
    connections: mostAnswers,
  });
  const { clusters, clusterList } = connectedClusters(
    { ...following, client, events, onChange: () => inFlight.changed() },
    options,
    deps,
  );
  const probes = new ClusterProbes({ clusters, clock });
  exposeCache(metrics, { accessKeys, inFlight, clusters, probes });
  const handler = gatewayHandler({
    ...{ clock, inFlight, log, routes: gatewayRoutes },
    authenticator: keyAuthenticator({
      ...{ accessKeys, clock },
      onUse: (key) => lastActivity.note(key),
      unknownKeyRetries: new UnknownKeyRetries(),
      onMismatch: (sharingIndex) => mismatches.note(sharingIndex),
      onResult: authenticationCounter(identificationResults, metrics),
    }),
    findUpstream: findUpstreamIn({ credentials, discovery, forwarder }, (name) =>
      clusters.find(name),
    ),
    ...{ limits: inFlightLimits, bodies: bodyShares() },
    metrics: gatewayMetrics(metrics),
  });
  const impersonation = new ImpersonationRight({ client, clock, transport, directory: "gateway" });
  const certificates = new Certificates("gateway", options, { ...following, client, metrics });
  const parts = [accessKeys, lastActivity, discovery, clusters, clusterList, probes, impersonation];
  return {
    ...{ accessKeys, handler, inFlight },
    problems: () => [...accessKeys.staleReasons(), ...impersonation.problems()],
    warnings: () => [],
    useCa: (ca) => clusterList.useCa(ca),
    run: (signal) => runAll(parts, { inFlight, signal }),
    keepCertificates: (signal, onTls) => certificates.run(signal, onTls),
    close: async () => void (await Promise.all([transport.close(), forwarder.close()])),
  };
}

/** The connected clusters, and the list of them that clients read. */
function connectedClusters(
  following: Omit<ConnectedClustersDeps, "connect"> & { readonly client: Client },
  options: GatewayOptions,
  deps: ProcessConnectionDeps,
): { readonly clusters: ConnectedClusters; readonly clusterList: PublishedClusterList } {
  const large = largeAnswers();
  const clusters = new ConnectedClusters({
    ...following,
    connect: (access) => connectCluster(access, { ...deps, large }),
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
  { clock, log }: ProcessConnectionDeps,
): EventRecorder {
  return new EventRecorder({ client, clock, log, reporter: `${group}/latchkey`, identity });
}

function exposeCache(
  metrics: Metrics,
  {
    accessKeys,
    inFlight,
    clusters,
    probes,
  }: Pick<GatewayAssembly, "accessKeys" | "inFlight"> & {
    readonly clusters: Pick<ConnectedClusters, "watches">;
    readonly probes: Pick<ClusterProbes, "readings">;
  },
): void {
  exposeWatches(() => [...accessKeys.watches(), ...clusters.watches()], metrics);
  exposeFreshness(accessKeys, metrics);
  exposeRequests(() => inFlight.counts(), metrics);
  exposeClusters(() => probes.readings(), metrics);
}
