import type { AuthorizeKeyDeps } from "../authn/authorize-request.ts";
import { oneLocation, type RequestLocations } from "../authn/request-locations.ts";
import type { PolicyGuard } from "../policies/policy-guard.ts";
import { upstreamLocation, upstreamName } from "../domain/gateway/connected-cluster.ts";
import type { Upstream } from "../domain/gateway/request-target.ts";
import type { Discovery } from "../kube/client/discovery.ts";
import type { Credentials } from "../kube/credentials/credentials.ts";
import type { Forwarder } from "../kube/forward/forwarder.ts";

/** An API server that requests are forwarded to, and what it serves. */
export interface GatewayUpstream {
  readonly forwarder: Forwarder;
  readonly credentials: Credentials;
  readonly discovery: Pick<Discovery, "known" | "find">;
  /** Of a connected cluster, whose administrator may not have applied the policies of Latchkey. */
  readonly secrets?: Pick<PolicyGuard, "problem">;
  /** Where requests to it are, if more decides than the path at the gateway. */
  readonly locations?: RequestLocations;
}

/** Where a request goes; `server` is undefined if no cluster of that name is connected. */
export interface Destination {
  readonly upstream: Upstream;
  readonly server: GatewayUpstream | undefined;
}

/** The API server of an upstream; undefined if no cluster of that name is connected. */
export type FindUpstream = (upstream: Upstream) => GatewayUpstream | undefined;

/** Finds the API server of the central cluster, or a connected one by its `upstreamName`. */
export function findUpstreamIn(
  management: GatewayUpstream,
  connected: (name: string) => GatewayUpstream | undefined,
): FindUpstream {
  return (upstream) => {
    const name = upstreamName(upstream);
    return name === undefined ? management : connected(name);
  };
}

/**
 * Where requests to an upstream are; undefined for the central cluster, whose namespaces the
 * cache of keys has.
 */
export function locationsAt({ upstream, server }: Destination): RequestLocations | undefined {
  if (server?.locations !== undefined) return server.locations;
  const location = upstreamLocation(upstream);
  return location && oneLocation(location);
}

/** What authorizes requests to an upstream: the locations and resources are those of it. */
export function authorizeDeps(
  { accessKeys, clock }: Omit<AuthorizeKeyDeps, "discovery">,
  server: GatewayUpstream | undefined,
  locations: RequestLocations | undefined,
): AuthorizeKeyDeps {
  return {
    clock,
    discovery: server?.discovery ?? nothingServed,
    accessKeys:
      locations === undefined
        ? accessKeys
        : {
            byId: (uid) => accessKeys.byId(uid),
            isFresh: () => accessKeys.isFresh(),
            roles: () => accessKeys.roles(),
            locationOf: (namespace) => locations.locationOf(namespace),
          },
  };
}

/** A cluster that is not connected serves nothing, so that no scope allows anything there. */
export const nothingServed: GatewayUpstream["discovery"] = {
  known: () => undefined,
  find: () => Promise.resolve("Unknown"),
};
