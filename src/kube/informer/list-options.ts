import type { Resource } from "../../api/resources.ts";
import { isKubeError } from "../client/kube-error.ts";
import { collectionPath, withQuery } from "../client/paths.ts";

/** Selects the objects of an informer. */
export interface ListOptions {
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Requests only metadata (`as=PartialObjectMetadata`). */
  readonly metadataOnly?: boolean;
}

/** The path of a list or watch with its selectors and these parameters. */
export function listPath(
  selection: ListOptions,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const { labelSelector, fieldSelector } = selection;
  return withQuery(collectionPath(selection.resource, selection.namespace), {
    labelSelector,
    fieldSelector,
    ...parameters,
  });
}

/** The Accept header of a selection; `suffix` is `List` if the response is a list. */
export function acceptOf({ metadataOnly }: ListOptions, suffix: "List" | ""): string {
  return metadataOnly === true
    ? `application/json;as=PartialObjectMetadata${suffix};g=meta.k8s.io;v=v1`
    : "application/json";
}

/**
 * Reads a page of at most `limit` items; one that has too many bytes is read again with an eighth
 * of the items. Rejects as `read` does.
 */
export async function readPage<T>(limit: number, read: (limit: number) => Promise<T>): Promise<T> {
  try {
    return await read(limit);
  } catch (error) {
    if (limit === 1 || !isKubeError(error) || !error.isResponseTooLarge) throw error;
    return readPage(Math.ceil(limit / 8), read);
  }
}
