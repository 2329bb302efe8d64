import type { ObjectRef } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import { KubeError } from "./kube-error.ts";

/**
 * Whether a text can be the name of an object of any kind (Kubernetes, Object Names and IDs, "Path
 * Segment Names"). The path of any other name is that of something else: that of `/` is the
 * collection, whose DELETE deletes all its objects.
 */
function isPathSegmentName(name: string): boolean {
  return name !== "." && name !== ".." && /^[^/%]+$/.test(name) && name.isWellFormed();
}

/** Whether an object of these names can exist; a reference may be a text of an annotation. */
export function canExist({ namespace, name }: ObjectRef): boolean {
  return isPathSegmentName(name) && (namespace === undefined || isPathSegmentName(namespace));
}

/**
 * Path of a collection (Kubernetes API concepts, "Resource URIs"); of all namespaces without
 * `namespace`. Throws a KubeError for a name that is no path segment.
 */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root =
    resource.group === ""
      ? `/api/${resource.version}`
      : `/apis/${resource.group}/${resource.version}`;
  const scope =
    resource.namespaced && namespace !== undefined
      ? `/namespaces/${segmentOf(namespace, "namespace")}`
      : "";
  return `${root}${scope}/${resource.plural}`;
}

/**
 * Path of an object or of its subresource. Throws a KubeError for a name that is no path segment,
 * and for a namespaced object without a namespace.
 */
export function objectPath(resource: Resource, ref: ObjectRef, subresource?: string): string {
  const { kind, namespaced } = resource;
  if (namespaced && ref.namespace === undefined)
    throw invalid(`${kind} "${ref.name}" has no namespace`);
  const path = `${collectionPath(resource, ref.namespace)}/${segmentOf(ref.name, kind)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

function segmentOf(name: string, kind: string): string {
  if (isPathSegmentName(name)) return encodeURIComponent(name);
  throw invalid(
    `"${name}" is not a valid ${kind} name: ` +
      "a name must not be empty, . or .., and must not contain / or %",
  );
}

/** The error that a server would answer; it is thrown before the request. */
function invalid(explanation: string): KubeError {
  return new KubeError(explanation, { code: "Invalid", status: 0 });
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
