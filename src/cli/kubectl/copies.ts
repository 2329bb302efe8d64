import { annotations, labels } from "../../api/names.ts";
import { keyOf } from "../../api/object.ts";
import { listAt, parseLatchkeyMetadata, recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { isPaused } from "../../domain/sync/sync-options.ts";
import { isKubeError } from "../../kube/errors.ts";
import { collectionPath, withQuery } from "../../kube/paths.ts";
import type { Cluster } from "./cluster.ts";

/** A copy of a SharedSecret, as its metadata describes it. */
export interface FoundCopy {
  /** `namespace/name`. */
  readonly target: string;
  /** Whether its annotation keeps Latchkey from changing it. */
  readonly isPaused: boolean;
  /** Why it is not current: its annotation `sync-error`. */
  readonly error?: string;
}

const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/**
 * The copies of all SharedSecrets by the uid of their source, read as metadata without data;
 * undefined if the user may not list Secrets of all namespaces.
 */
export async function copiesByUid({
  send,
}: Pick<Cluster, "send">): Promise<ReadonlyMap<string, readonly FoundCopy[]> | undefined> {
  const copies = new Map<string, FoundCopy[]>();
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
        const metadata = parseLatchkeyMetadata(item);
        const uid = metadata.labels[labels.sourceUid] ?? "";
        const found = copies.get(uid);
        const copy = copyOf(metadata);
        if (found === undefined) copies.set(uid, [copy]);
        else found.push(copy);
      }
      next = stringAt(recordAt(page, "metadata"), "continue") || undefined;
    } while (next !== undefined);
    return copies;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return undefined;
    throw error;
  }
}

function copyOf(metadata: ReturnType<typeof parseLatchkeyMetadata>): FoundCopy {
  const error = metadata.annotations[annotations.syncError];
  return {
    target: keyOf(metadata),
    isPaused: isPaused(metadata),
    ...(error === undefined ? {} : { error }),
  };
}
