import { directFieldManager, ownObjects } from "../api/names.ts";
import { followIssuer, type FollowIssuerOptions } from "../published/follow-issuer.ts";
import { Certificates } from "../certificates/certificates.ts";
import {
  acceptedAudiences,
  type ClusterAudienceOptions,
} from "../domain/endpoint-token/token-audience.ts";
import { namedUpstream } from "../domain/gateway/connected-cluster.ts";
import { inFlightLimits } from "../domain/gateway/in-flight-limits.ts";
import { directRoutes } from "../domain/gateway/request-target.ts";
import { createClient } from "../kube/client/client.ts";
import { createDiscovery } from "../kube/client/discovery.ts";
import { createForwarder } from "../kube/forward/forwarder.ts";
import {
  ownTransport,
  type ProcessConnectionDeps,
  provingInformerDeps,
} from "../kube/process-connection.ts";
import { ServerProbe } from "../kube/client/server-version.ts";
import {
  authenticationCounter,
  cutCounter,
  exposeRequests,
  gatewayMetrics,
} from "./gateway-metrics.ts";
import { VerifiedTokens } from "../tokens/verified-tokens.ts";
import { bodyShares } from "./own-body.ts";
import { headTimeoutMs } from "./forward-upgrade.ts";
import { gatewayHandler } from "./gateway-handler.ts";
import { ImpersonationRight } from "./impersonation-right.ts";
import { cutReasons, InFlightRequests } from "./in-flight-requests.ts";
import { type FrontAssembly, mostAnswers, runAll } from "./process-parts.ts";
import { type NamePrefixes, tokenAuthenticator, tokenResults } from "./token-authenticator.ts";

/** How a direct endpoint behaves. */
interface DirectEndpointOptions extends FollowIssuerOptions, ClusterAudienceOptions {
  readonly serviceName: string;
  readonly externalNames: readonly string[];
  readonly prefixes: NamePrefixes;
}

/** Builds a direct endpoint without its servers; nothing runs yet. */
export function assembleDirectEndpoint(
  options: DirectEndpointOptions,
  deps: ProcessConnectionDeps,
): FrontAssembly {
  const { credentials, clock, log, metrics } = deps;
  const { clusterName, issuer, namespace, prefixes } = options;
  const transport = ownTransport(deps);
  const client = createClient(transport, directFieldManager);
  const following = provingInformerDeps(transport, deps);
  const inFlight = new InFlightRequests({
    ...{ clock, yielder: following.yielder },
    isFresh: () => revoked.isKnown(),
    onCut: cutCounter(cutReasons, metrics),
  });
  const tokens = new VerifiedTokens(new Map(), {
    issuer,
    audiences: acceptedAudiences(options),
  });
  const { keys, revoked, ...followed } = followIssuer(options, {
    ...{ ...deps, client, secretName: ownObjects.directKeys },
    onKeys(known) {
      tokens.replaceKeys(known);
      inFlight.changed();
    },
    onList: () => inFlight.changed(),
  });
  const discovery = createDiscovery({ transport, clock, log });
  const limits = { headTimeoutMs, connections: mostAnswers };
  const forwarder = createForwarder({ credentials, clock, ...limits });
  const own = { credentials, discovery, forwarder };
  const handler = gatewayHandler({
    ...{ clock, inFlight, log, routes: directRoutes(namedUpstream(clusterName)) },
    authenticator: tokenAuthenticator({
      ...{ tokens, keys, revoked, clock, prefixes, namespace },
      onResult: authenticationCounter(tokenResults, metrics),
    }),
    findUpstream: () => own,
    ...{ limits: inFlightLimits, bodies: bodyShares() },
    metrics: gatewayMetrics(metrics),
  });
  const impersonation = new ImpersonationRight({
    client,
    clock,
    transport,
    directory: "direct-endpoint",
  });
  const probe = new ServerProbe({ transport, clock });
  const certificates = new Certificates("direct", options, { ...following, client, metrics });
  exposeRequests(() => inFlight.counts(), metrics);
  return {
    ...{ handler, inFlight, useCa: () => {} },
    warnings: () => followed.warnings(),
    problems: () => [...followed.problems(), ...probe.problems(), ...impersonation.problems()],
    run: (signal) =>
      runAll([probe, ...followed.parts, discovery, impersonation], { inFlight, signal }),
    keepCertificates: (signal, onTls) => certificates.run(signal, onTls),
    close: async () =>
      void (await Promise.all([transport.close(), forwarder.close(), followed.close()])),
  };
}
