import type { AuthorizeKeyDeps } from "../authn/authorize-request.ts";
import type { PolicyGuard } from "../authn/policy-guard.ts";
import { upstreamLocation, upstreamName } from "../domain/gateway/connected-cluster.ts";
import type { Upstream } from "../domain/gateway/request-target.ts";
import type { Discovery } from "../kube/client/discovery.ts";
import type { Credentials } from "../kube/credentials/credentials.ts";
import type { Forwarder } from "../kube/forward/forwarder.ts";

/** The API server that a request is forwarded to. */
interface UpstreamServer {
  readonly forwarder: Forwarder;
  readonly credentials: Credentials;
}

/** An API server that requests are forwarded to, and what it serves. */
export interface GatewayUpstream extends UpstreamServer {
  readonly discovery: Pick<Discovery, "known" | "find">;
  /** Of a connected cluster, whose administrator may not have applied the policies of Latchkey. */
  readonly secrets?: Pick<PolicyGuard, "problem">;
}

/** The API server of an upstream; undefined if no cluster of that name is connected. */
export type FindUpstream = (upstream: Upstream) => GatewayUpstream | undefined;

/** Finds the API server of the management cluster, or a connected one by its `upstreamName`. */
export function findUpstreamIn(
  management: GatewayUpstream,
  connected: (name: string) => GatewayUpstream | undefined,
): FindUpstream {
  return (upstream) => {
    const name = upstreamName(upstream);
    return name === undefined ? management : connected(name);
  };
}

/** What authorizes requests to an upstream: the locations and resources are those of it. */
export function authorizeDeps(
  deps: Omit<AuthorizeKeyDeps, "discovery">,
  upstream: Upstream,
  server: GatewayUpstream | undefined,
): AuthorizeKeyDeps {
  const location = upstreamLocation(upstream);
  const { accessKeys, clock } = deps;
  return {
    clock,
    discovery: server?.discovery ?? nothingServed,
    accessKeys:
      location === undefined
        ? accessKeys
        : {
            byId: (uid) => accessKeys.byId(uid),
            isFresh: () => accessKeys.isFresh(),
            roles: () => accessKeys.roles(),
            locationOf: () => location,
          },
  };
}

/** A cluster that is not connected serves nothing, so that no scope allows anything there. */
const nothingServed: GatewayUpstream["discovery"] = {
  known: () => undefined,
  find: () => Promise.resolve("Unknown"),
};
