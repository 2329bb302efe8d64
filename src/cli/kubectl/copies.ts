import { labels } from "../../api/names.ts";
import type { ObjectRef } from "../../api/object.ts";
import { listAt, recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/errors.ts";
import { collectionPath, withQuery } from "../../kube/paths.ts";
import type { Cluster } from "./cluster.ts";

const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/**
 * The copies of all SharedSecrets by the uid of their source, read as metadata without data;
 * undefined if the user may not list Secrets of all namespaces.
 */
export async function copiesByUid({
  send,
}: Pick<Cluster, "send">): Promise<ReadonlyMap<string, readonly ObjectRef[]> | undefined> {
  const copies = new Map<string, ObjectRef[]>();
  let next: string | undefined;
  try {
    do {
      const path = withQuery(collectionPath(resources.secrets), {
        labelSelector: labels.sourceUid,
        limit: "500",
        continue: next,
      });
      const page = await send({ method: "GET", path, accept: metadataOnly });
      for (const item of listAt(page, "items")) {
        const metadata = recordAt(item, "metadata");
        const uid = stringMapAt(metadata, "labels")[labels.sourceUid] ?? "";
        const namespace = stringAt(metadata, "namespace") ?? "";
        const ref = { namespace, name: stringAt(metadata, "name") ?? "" };
        copies.set(uid, [...(copies.get(uid) ?? []), ref]);
      }
      next = stringAt(recordAt(page, "metadata"), "continue") || undefined;
    } while (next !== undefined);
    return copies;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}
