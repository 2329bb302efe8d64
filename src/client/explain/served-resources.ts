import {
  aggregatedDiscovery,
  parseGroupDiscovery,
  type ServedResource,
} from "../../api/discovery.ts";
import type { Cluster } from "../connection/cluster.ts";

/** The resources that the API server serves. */
export async function servedResources({ send }: Cluster): Promise<readonly ServedResource[]> {
  const [core, groups] = await Promise.all(
    ["/api", "/apis"].map((path) => send({ method: "GET", path, accept: aggregatedDiscovery })),
  );
  return [core, groups].flatMap((answer) => parseGroupDiscovery(answer) ?? []);
}

/** A resource with its subresource, as in a scope or a Role. */
interface NamedResource {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
}

/**
 * Reads a resource as kubectl and Roles write it: `pods`, `pods/log`, `deployments.apps`, `Pod`.
 * Without a group, the first group that serves it counts, the core group before others.
 */
export function namedResource(word: string, served: readonly ServedResource[]): NamedResource {
  const [type = "", ...rest] = word.split("/");
  const dot = type.indexOf(".");
  const [name, group] = dot === -1 ? [type, undefined] : [type.slice(0, dot), type.slice(dot + 1)];
  const found = served.find(
    (one) =>
      (one.plural === name || one.kind.toLowerCase() === name.toLowerCase()) &&
      (group === undefined || one.group === group),
  );
  return {
    group: found?.group ?? group ?? "",
    resource: found?.plural ?? name,
    subresource: rest.join("/"),
  };
}
