import { labels } from "../../api/names.ts";
import type { RequestLocation } from "./request.ts";

/**
 * Where a request to the central cluster goes: what its namespace belongs to, by its labels;
 * nowhere in particular without one.
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
