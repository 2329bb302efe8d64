import type { ReviewedRequest } from "../../api/access-review.ts";
import { isAlwaysAllowed } from "../scope/always-allowed.ts";
import type { RequestLocation } from "../scope/scoped-request.ts";

/** A space, as the path of a request names it. */
interface Space {
  readonly project: string;
  readonly space: string;
}

/**
 * Why a request is not served below the path of a space, whatever the scope of its key; undefined
 * if it is. Only the namespaces of the space are there, and what every client needs.
 */
export function spaceProblem(
  request: ReviewedRequest,
  { project, space }: Space,
  locationOf: (namespace: string) => RequestLocation,
): string | undefined {
  const target = "ProjectSpace";
  const scoped =
    request.kind === "path"
      ? ({ ...request, target, project, space } as const)
      : ({ ...request, target, project, space, resourceScope: "Unknown" } as const);
  if (isAlwaysAllowed(scoped)) return undefined;
  if (request.kind === "path") return `path ${JSON.stringify(request.path)} is not part of a space`;
  if (request.namespace === "" || request.resource === "namespaces")
    return request.resource === "namespaces" && request.verb === "get"
      ? namespaceProblem(request.namespace)
      : "a request below a space must name a namespace of the space";
  return namespaceProblem(request.namespace);

  function namespaceProblem(namespace: string): string | undefined {
    const found = locationOf(namespace);
    return found.project === project && found.space === space
      ? undefined
      : `namespace ${JSON.stringify(namespace)} is not labelled with project ${project} and ` +
          `space ${space}`;
  }
}
