import type { ObjectRef } from "../api/object.ts";
import { recordAt, stringAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";

/**
 * Asks the API server itself whether the SharedSecret of this uid is gone: a cache may lag or a CRD be away, and what is
 * removed on a mistake is somebody's access or Secret. A 404 counts only when it names the object, which it does only
 * while the resource is served. Throws the KubeError of any other answer.
 */
export async function isSourceGone(ref: ObjectRef, uid: string | undefined, client: Pick<Client, "getMetadata">): Promise<boolean> {
  try {
    const found = await client.getMetadata(resources.sharedSecrets, ref);
    return uid !== undefined && stringAt(recordAt(found, "metadata"), "uid") !== uid;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return error.objectName === ref.name;
    throw error;
  }
}
