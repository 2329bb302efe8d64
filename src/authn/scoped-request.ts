import type { ReviewedRequest } from "../api/access-review.ts";
import type { ResourceScope } from "../api/discovery.ts";
import { authorizationOnlyScope } from "../domain/scope/authorization-only.ts";
import type { ScopedRequest } from "../domain/scope/request.ts";
import type { Discovery } from "../kube/discovery.ts";
import type { AccessKeyCache } from "./access-key-cache.ts";

/** Lookups for the location and the resource of a request. */
export interface ScopedRequestDeps {
  readonly accessKeys: Pick<AccessKeyCache, "locationOf">;
  readonly discovery: Pick<Discovery, "known" | "find">;
  /** Whether the key has a scope: without one, no API discovery is required. */
  readonly isScoped: boolean;
  /** Ends the wait for discovery. */
  readonly left?: AbortSignal | undefined;
}

/**
 * Resolves a request to the central cluster for a scope check. Returns a promise only if discovery
 * has not cached the resource: it waits for one refresh, and rejects with a KubeError if that
 * fails, and with the reason of `left` if the caller leaves.
 */
export function scopedRequest(
  request: ReviewedRequest,
  { accessKeys, discovery, isScoped, left }: ScopedRequestDeps,
): ScopedRequest | Promise<ScopedRequest> {
  if (request.kind === "path") return { ...request, ...accessKeys.locationOf("") };
  const { group, resource } = request;
  const within = (resourceScope: ResourceScope): ScopedRequest => ({
    ...request,
    ...accessKeys.locationOf(request.namespace),
    resourceScope,
  });
  const known = discovery.known(group, resource) ?? authorizationOnlyScope(group, resource);
  if (known !== undefined || !isScoped) return within(known ?? "Unknown");
  return discovery.find(group, resource, left).then(within);
}
