import type { ObjectRef } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import { parseSecret } from "../api/secret.ts";
import type { ReadSourceSecret } from "../domain/sync/source-secret.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";

/** Reads a Secret with its data; gone if a 404 names it. */
export async function readSource(
  ref: ObjectRef,
  client: Pick<Client, "get">,
): Promise<ReadSourceSecret> {
  try {
    return { kind: "there", secret: parseSecret(await client.get(resources.secrets, ref)) };
  } catch (error) {
    if (isKubeError(error, "NotFound") && error.objectName === ref.name) return { kind: "gone" };
    throw error;
  }
}
