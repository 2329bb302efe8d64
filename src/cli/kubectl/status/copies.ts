import { annotations, labels } from "../../../api/names.ts";
import { keyOf, type Metadata } from "../../../api/object.ts";
import { parseLatchkeyMetadata } from "../../../api/parse.ts";
import { resources } from "../../../api/resources.ts";
import { isPaused } from "../../../domain/sync/sync-options.ts";
import { isKubeError } from "../../../kube/client/kube-error.ts";
import type { Cluster } from "../connection/cluster.ts";

/** A copy of a SharedSecret, as its metadata describes it. */
export interface FoundCopy {
  /** `namespace/name`. */
  readonly target: string;
  /** Whether its annotation keeps Latchkey from changing it. */
  readonly isPaused: boolean;
  /** Why it is not current: its annotation `sync-error`. */
  readonly error?: string;
}

/**
 * The copies of all SharedSecrets by the uid of their source, read as metadata without data;
 * undefined if the user may not list Secrets of all namespaces.
 */
export async function copiesByUid({
  select,
}: Pick<Cluster, "select">): Promise<ReadonlyMap<string, readonly FoundCopy[]> | undefined> {
  const copies = new Map<string, FoundCopy[]>();
  try {
    const items = await select({
      resource: resources.secrets,
      labelSelector: labels.sourceUid,
      metadataOnly: true,
    });
    for (const item of items) {
      const metadata = parseLatchkeyMetadata(item);
      const uid = metadata.labels[labels.sourceUid] ?? "";
      const found = copies.get(uid);
      if (found === undefined) copies.set(uid, [copyOf(metadata)]);
      else found.push(copyOf(metadata));
    }
    return copies;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}

function copyOf(metadata: Metadata): FoundCopy {
  const error = metadata.annotations[annotations.syncError];
  return {
    target: keyOf(metadata),
    isPaused: isPaused(metadata),
    ...(error === undefined ? {} : { error }),
  };
}
