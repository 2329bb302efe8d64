import { directFieldManager, ownObjects } from "../api/names.ts";
import { ownLocations } from "../authn/guarded-namespaces.ts";
import { Certificates } from "../certificates/certificates.ts";
import {
  acceptedAudiences,
  type ClusterAudienceOptions,
} from "../domain/endpoint-token/token-audience.ts";
import { namedUpstream } from "../domain/gateway/connected-cluster.ts";
import { directRoutes } from "../domain/gateway/request-target.ts";
import { ServerProbe } from "../kube/client/server-version.ts";
import type { OutwardConnectionDeps } from "../kube/process-connection.ts";
import {
  followIssuer,
  followIssuerAuthority,
  type FollowIssuerOptions,
} from "../published/follow-issuer.ts";
import type { ServerProcess } from "../runtime/run-process.ts";
import { VerifiedTokens } from "../tokens/verified-tokens.ts";
import type { DirectEndpointConfig } from "./direct-endpoint-options.ts";
import { authenticationCounter } from "./gateway-metrics.ts";
import { type GatewayAssembly, gatewayBase, runGatewayProcess } from "./gateway-process.ts";
import { type NamePrefixes, tokenAuthenticator, tokenResults } from "./token-authenticator.ts";

/** How a direct endpoint behaves. */
interface DirectEndpointOptions extends FollowIssuerOptions, ClusterAudienceOptions {
  readonly serviceName: string;
  readonly externalNames: readonly string[];
  readonly prefixes: NamePrefixes;
  /** The namespace of a virtual cluster in the cluster that runs it. */
  readonly virtualClusterNamespace: string | undefined;
}

/**
 * Runs `latchkey direct-endpoint` until SIGTERM; rejects with a ConfigError for an unreadable CA
 * file.
 */
export async function runDirectEndpoint(
  config: DirectEndpointConfig,
  process: ServerProcess,
): Promise<void> {
  const prefixes = { user: config.usernamePrefix, groups: config.groupsPrefix };
  await runGatewayProcess(
    config,
    {
      name: "direct endpoint",
      address: config.endpointAddress,
      assemble(deps) {
        const issuerCa = followIssuerAuthority(config.certificateAuthority, deps);
        return assembleDirectEndpoint({ ...config, prefixes, issuerCa }, deps);
      },
    },
    process,
  );
}

/** Builds a direct endpoint without its servers; nothing runs yet. */
function assembleDirectEndpoint(
  options: DirectEndpointOptions,
  deps: OutwardConnectionDeps,
): GatewayAssembly {
  const { clock, metrics } = deps;
  const { clusterName, issuer, namespace, prefixes } = options;
  const base = gatewayBase(
    {
      fieldManager: directFieldManager,
      directory: "direct-endpoint",
      isFresh: () => revoked.isKnown(),
    },
    deps,
  );
  const { client, following, inFlight } = base;
  const onChange = (): void => inFlight.changed();
  const tokens = new VerifiedTokens(new Map(), { issuer, audiences: acceptedAudiences(options) });
  const { keys, revoked, roles, parts } = followIssuer(options, {
    ...deps,
    client,
    secretName: ownObjects.directKeys,
    onKeys(known) {
      tokens.replaceKeys(known);
      onChange();
    },
    onList: onChange,
  });
  const locations = ownLocations(options, { ...following, client, metrics, onChange });
  const upstream = { ...base.upstream, locations };
  const probe = new ServerProbe(base.transport, clock);
  const certificates = new Certificates("direct", options, { ...following, client, metrics });
  return {
    inFlight,
    handler: base.handlerWith({
      routes: directRoutes(namedUpstream(clusterName)),
      authenticator: tokenAuthenticator({
        tokens,
        keys,
        revoked,
        roles,
        clock,
        prefixes,
        namespace,
        onResult: authenticationCounter(tokenResults, metrics),
      }),
      findUpstream: () => upstream,
    }),
    parts: base.partsWith([...parts, locations, probe]),
    certificates,
  };
}
