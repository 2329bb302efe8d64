import type { ReviewedRequest } from "../../api/access-review.ts";

/** Subresources of pods that run something or open a connection. */
const connecting: readonly string[] = ["exec", "attach", "portforward"];

/**
 * The requests that a scope must allow: the request itself and, if it connects to a pod or upgrades
 * the connection, the same with the verb create, which kube-apiserver requires from 1.35 on whatever
 * the HTTP method is.
 */
export function requiredAccess(
  request: ReviewedRequest,
  isUpgrade: boolean,
): readonly ReviewedRequest[] {
  if (request.kind === "path" || request.verb === "create") return [request];
  const isConnecting =
    request.group === "" && request.resource === "pods" && connecting.includes(request.subresource);
  return isUpgrade || isConnecting ? [request, { ...request, verb: "create" }] : [request];
}
