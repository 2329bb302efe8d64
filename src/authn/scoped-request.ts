import type { ReviewedRequest } from "../api/access-review.ts";
import type { ResourceScope } from "../api/discovery.ts";
import { authorizationOnlyScope } from "../domain/scope/authorization-only.ts";
import type { ScopedRequest } from "../domain/scope/request.ts";
import type { Discovery } from "../kube/discovery.ts";
import type { AccessKeyCache } from "./access-key-cache.ts";

/** What tells where a request goes and what it is for. */
export interface ScopedRequestDeps {
  readonly accessKeys: Pick<AccessKeyCache, "locationOf">;
  readonly discovery: Pick<Discovery, "known" | "find">;
  /** Whether a scope will be asked: without one, nothing waits for the API server. */
  readonly isScoped: boolean;
}

/**
 * A request to the central cluster as scopes are asked about it. It is there at once, but for a
 * resource that discovery does not know yet: that waits for one refresh, and rejects with a
 * KubeError when the API server does not answer.
 */
export function scopedRequest(
  request: ReviewedRequest,
  { accessKeys, discovery, isScoped }: ScopedRequestDeps,
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
  return discovery.find(group, resource).then(within);
}
