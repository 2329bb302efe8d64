import type { Metadata, ObjectRef } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import { type Resource, resources } from "../api/resources.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";

/** What the API server itself says of an object; a cache may lag. */
export type LiveObject =
  | { readonly kind: "there"; readonly metadata: Metadata }
  | { readonly kind: "gone" }
  | { readonly kind: "unknown" };

/**
 * Asks the API server itself for an object. It is gone when a 404 names it; one that does not comes
 * while the resource is not served, and says nothing about any object. Throws the KubeError of any
 * other answer.
 */
export async function readLive(
  resource: Resource,
  ref: ObjectRef,
  client: Pick<Client, "getMetadata">,
): Promise<LiveObject> {
  try {
    return { kind: "there", metadata: parseMetadata(await client.getMetadata(resource, ref)) };
  } catch (error) {
    if (isKubeError(error, "NotFound"))
      return { kind: error.objectName === ref.name ? "gone" : "unknown" };
    throw error;
  }
}

/**
 * Whether the SharedSecret of this uid is certainly gone: what is removed on a mistake is
 * somebody's access or Secret.
 */
export async function isSourceGone(
  ref: ObjectRef,
  uid: string | undefined,
  client: Pick<Client, "getMetadata">,
): Promise<boolean> {
  const live = await readLive(resources.sharedSecrets, ref, client);
  return live.kind === "there"
    ? uid !== undefined && live.metadata.uid !== uid
    : live.kind === "gone";
}
