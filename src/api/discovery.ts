import { listAt, recordAt, stringAt } from "./parse.ts";

/**
 * The scope of a resource (Kubernetes API reference, APIResourceDiscovery `scope`); Unknown if the
 * API server does not serve the resource.
 */
export type ResourceScope = "Namespaced" | "Cluster" | "Unknown";

/** A resource that the API server serves; the empty group is the core group. */
export interface ServedResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly scope: Exclude<ResourceScope, "Unknown">;
}

/** The media type of aggregated discovery (Kubernetes API concepts, "Aggregated discovery"). */
export const aggregatedDiscovery =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * Parses the resources of an APIGroupDiscoveryList, without subresources; undefined for another
 * kind.
 */
export function parseGroupDiscovery(raw: unknown): readonly ServedResource[] | undefined {
  if (stringAt(raw, "kind") !== "APIGroupDiscoveryList") return undefined;
  return listAt(raw, "items").flatMap((item) => {
    const group = stringAt(recordAt(item, "metadata"), "name") ?? "";
    return listAt(item, "versions").flatMap((version) =>
      listAt(version, "resources").flatMap((resource) =>
        served(resource, { group, version: stringAt(version, "version") ?? "" }),
      ),
    );
  });
}

/**
 * The API groups that are registered with a server that does not answer: kube-apiserver lists them
 * with a version of freshness Stale, and without resources if the server never answered.
 */
export function staleGroups(raw: unknown): readonly string[] {
  return listAt(raw, "items").flatMap((item) => {
    const versions = listAt(item, "versions");
    const isStale = versions.some((version) => stringAt(version, "freshness") === "Stale");
    return isStale ? (stringAt(recordAt(item, "metadata"), "name") ?? []) : [];
  });
}

function served(
  raw: unknown,
  { group, version }: Pick<ServedResource, "group" | "version">,
): readonly ServedResource[] {
  const plural = stringAt(raw, "resource");
  if (plural === undefined) return [];
  const kind = stringAt(recordAt(raw, "responseKind"), "kind") ?? "";
  return [
    {
      group,
      version,
      plural,
      kind,
      scope: stringAt(raw, "scope") === "Cluster" ? "Cluster" : "Namespaced",
    },
  ];
}
