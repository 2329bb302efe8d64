import type { ObjectRef } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";

/**
 * Path of a collection (Kubernetes API concepts, "Resource URIs"); of all namespaces without
 * `namespace`.
 */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root =
    resource.group === ""
      ? `/api/${resource.version}`
      : `/apis/${resource.group}/${resource.version}`;
  const scope =
    resource.namespaced && namespace !== undefined
      ? `/namespaces/${encodeURIComponent(namespace)}`
      : "";
  return `${root}${scope}/${resource.plural}`;
}

/** Path of an object or of its subresource. */
export function objectPath(resource: Resource, ref: ObjectRef, subresource?: string): string {
  const path = `${collectionPath(resource, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Appends the parameters that have a value. */
export function withQuery(
  path: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const given = Object.entries(parameters).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
