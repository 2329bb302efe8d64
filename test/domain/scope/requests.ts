import type { PathRequest, ResourceRequest } from "../../../src/domain/scope/scoped-request.ts";

/** A request to read a pod in namespace `ns` of the central cluster, with these changes. */
export function resourceRequest(
  changes: Partial<Omit<ResourceRequest, "kind">> = {},
): ResourceRequest {
  return {
    kind: "resource",
    target: "Management",
    verb: "get",
    group: "",
    resource: "pods",
    subresource: "",
    name: "p",
    namespace: "ns",
    resourceScope: "Namespaced",
    ...changes,
  };
}

/** A request to read a path of the central cluster, with these changes. */
export function pathRequest(
  path: string,
  changes: Partial<Omit<PathRequest, "kind" | "path">> = {},
): PathRequest {
  return { kind: "path", target: "Management", verb: "get", path, ...changes };
}
