import { labels } from "../../api/names.ts";
import type { RequestLocation } from "./request.ts";

/**
 * The location of a request to the central cluster: the project, space and virtual cluster in the
 * labels of its namespace, if any.
 */
export function locationOf(
  namespaceLabels: Readonly<Record<string, string>> = {},
): RequestLocation {
  const named = {
    project: namespaceLabels[labels.project],
    space: namespaceLabels[labels.space],
    virtualCluster: namespaceLabels[labels.virtualCluster],
  };
  const known = Object.entries(named).filter(([, name]) => name !== undefined && name !== "");
  return { target: "Management", ...Object.fromEntries(known) };
}
