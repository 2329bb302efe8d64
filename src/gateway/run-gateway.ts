import { gatewayFieldManager, group } from "../api/names.ts";
import { resources } from "../api/resources.ts";
import { followIdentities } from "../authn/follow-identities.ts";
import { exposeLabelTrust } from "../authn/request-locations.ts";
import { identificationResults, UnknownKeyRetries } from "../authn/identify-key.ts";
import { KeyMismatches } from "../authn/key-mismatch.ts";
import { LastActivity } from "../authn/last-activity.ts";
import { Certificates } from "../certificates/certificates.ts";
import type { KeyConfig } from "../domain/access-key/key-state.ts";
import { gatewayRoutes } from "../domain/gateway/request-target.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { exposeWatches } from "../kube/informer/watch-metrics.ts";
import type { OutwardConnectionDeps } from "../kube/process-connection.ts";
import type { ServerProcess } from "../runtime/run-process.ts";
import { ClusterProbes } from "./cluster-probes.ts";
import { connectCluster, largeAnswers } from "./connect-cluster.ts";
import { ConnectedClusters } from "./connected-clusters.ts";
import { authenticationCounter, exposeClusters } from "./gateway-metrics.ts";
import type { GatewayConfig } from "./gateway-options.ts";
import { type GatewayAssembly, gatewayBase, runGatewayProcess } from "./gateway-process.ts";
import { keyAuthenticator } from "./key-authenticator.ts";
import { PublishedClusterList } from "./published-cluster-list.ts";
import { findUpstreamIn } from "./upstreams.ts";

/** How a gateway process behaves. */
interface GatewayOptions extends KeyConfig {
  readonly serviceName: string;
  readonly externalNames: readonly string[];
  readonly externalUrl: string | undefined;
}

/** Runs `latchkey gateway` until SIGTERM. */
export function runGateway(config: GatewayConfig, process: ServerProcess): Promise<void> {
  const prefixes = { user: config.userPrefix, team: config.teamPrefix };
  return runGatewayProcess(
    config,
    {
      name: "gateway",
      address: config.gatewayAddress,
      assemble: (deps) => assembleGateway({ ...config, prefixes }, deps),
    },
    process,
  );
}

/** Builds a gateway process without its servers; nothing runs yet. */
export function assembleGateway(
  options: GatewayOptions,
  deps: OutwardConnectionDeps,
): GatewayAssembly {
  const { clock, log, metrics } = deps;
  const base = gatewayBase(
    {
      fieldManager: gatewayFieldManager,
      directory: "gateway",
      isFresh: () => accessKeys.isFresh(),
    },
    deps,
  );
  const { client, following, inFlight } = base;
  const onChange = (): void => inFlight.changed();
  const { proxyOf } = deps;
  const identities = followIdentities(options, { ...following, metrics, proxyOf, onChange });
  const { accessKeys, tokens } = identities;
  const lastActivity = new LastActivity({ ...following, accessKeys, client, metrics });
  const events = new EventRecorder({
    client,
    clock,
    log,
    reporter: `${group}/latchkey`,
    identity: options.serviceName,
  });
  const mismatches = new KeyMismatches({ events, clock });
  const connecting = { ...deps, yielder: following.yielder, large: largeAnswers(), onChange };
  const clusters = new ConnectedClusters({
    ...following,
    events,
    connect: (access, location) => connectCluster(access, location, connecting),
    onChange() {
      onChange();
      clusterList.changed();
    },
  });
  const clusterList = new PublishedClusterList(
    { ...following, client, metrics, clusters },
    options,
  );
  const probes = new ClusterProbes({ clusters, clock });
  exposeWatches(() => [...accessKeys.watches(), ...clusters.watches()], metrics);
  exposeClusters(() => ({ ...probes.readings(), expiring: clusters.expiring() }), metrics);
  exposeLabelTrust(() => clusters.trust(), metrics);
  const certificates = new Certificates("gateway", options, { ...following, client, metrics });
  return {
    inFlight,
    handler: base.handlerWith({
      routes: gatewayRoutes,
      authenticator: keyAuthenticator({
        accessKeys,
        tokens,
        clock,
        async endKey({ name, uid }, spec) {
          const body = { metadata: { uid }, spec };
          const object = await client.patch(resources.ownedAccessKeys, { name }, { body });
          accessKeys.observe(object);
          return object;
        },
        unknownKeyRetries: new UnknownKeyRetries(),
        onUse: (key) => lastActivity.note(key),
        onMismatch: (sharingIndex) => mismatches.note(sharingIndex),
        onResult: authenticationCounter(identificationResults, metrics),
      }),
      findUpstream: findUpstreamIn(base.upstream, (name) => clusters.find(name)),
    }),
    parts: base.partsWith([...identities.parts, ...[lastActivity, clusters, clusterList, probes]]),
    useCa: (ca) => clusterList.useCa(ca),
    certificates,
  };
}
