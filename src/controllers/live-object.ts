import type { Metadata, ObjectRef } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";
import { canExist } from "../kube/paths.ts";

/** The state of an object in the API server; a cache may lag behind it. */
export type LiveObject =
  | { readonly kind: "there"; readonly metadata: Metadata }
  | { readonly kind: "gone" }
  | { readonly kind: "unknown" };

/**
 * Reads an object from the API server. It is gone if a 404 names it; a 404 without the name means
 * that the resource is not served, and says nothing about the object. Throws any other KubeError.
 * An object that cannot exist is gone.
 */
export async function readLive(
  resource: Resource,
  ref: ObjectRef,
  client: Pick<Client, "getMetadata">,
): Promise<LiveObject> {
  if (!canExist(ref)) return { kind: "gone" };
  try {
    return { kind: "there", metadata: parseMetadata(await client.getMetadata(resource, ref)) };
  } catch (error) {
    if (isKubeError(error, "NotFound"))
      return { kind: error.objectName === ref.name ? "gone" : "unknown" };
    throw error;
  }
}
