import type { Resource } from "../api/resources.ts";
import { collectionPath, withQuery } from "./paths.ts";

/** Which objects an informer follows. */
export interface ListOptions {
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Asks for metadata alone (`as=PartialObjectMetadata`). */
  readonly metadataOnly?: boolean;
}

/** The path of a list or watch of a selection, with these parameters besides. */
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

/** The media type of a selection; `suffix` is `List` where a list is the answer. */
export function acceptOf({ metadataOnly }: ListOptions, suffix: "List" | ""): string {
  return metadataOnly === true
    ? `application/json;as=PartialObjectMetadata${suffix};g=meta.k8s.io;v=v1`
    : "application/json";
}
