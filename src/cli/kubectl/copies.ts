import { labels } from "../../api/names.ts";
import type { ObjectRef } from "../../api/object.ts";
import { recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { Cluster } from "./cluster.ts";

/**
 * The copies of all SharedSecrets by the uid of their source, read as metadata without data;
 * undefined if the user may not list Secrets of all namespaces.
 */
export async function copiesByUid({
  select,
}: Pick<Cluster, "select">): Promise<ReadonlyMap<string, readonly ObjectRef[]> | undefined> {
  const copies = new Map<string, ObjectRef[]>();
  try {
    const items = await select({
      resource: resources.secrets,
      labelSelector: labels.sourceUid,
      metadataOnly: true,
    });
    for (const item of items) {
      const metadata = recordAt(item, "metadata");
      const uid = stringMapAt(metadata, "labels")[labels.sourceUid] ?? "";
      const namespace = stringAt(metadata, "namespace") ?? "";
      const ref = { namespace, name: stringAt(metadata, "name") ?? "" };
      copies.set(uid, [...(copies.get(uid) ?? []), ref]);
    }
    return copies;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}
