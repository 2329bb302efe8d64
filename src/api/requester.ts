import { annotations } from "./names.ts";
import type { Metadata } from "./object.ts";
import { parseMetadata } from "./parse.ts";

/** The requester of a key or token, as the policies recorded it in annotations of the object. */
export interface RequesterAnnotations {
  readonly name: string;
  /** Empty when the authenticator gave none. */
  readonly uid: string;
  readonly groups: readonly string[];
  /** The uid of the access key that the request came with; absent when it came with none. */
  readonly keyId?: string;
}

/** The requester of an object, or why it is not certain. */
export type Requester =
  | ({ readonly kind: "known" } & RequesterAnnotations)
  | { readonly kind: "unknown"; readonly why: string };

/**
 * The annotations that record when a lifetime began and ended, over restores: written by the
 * controller, kept on create.
 */
export const lifetimeAnnotations: readonly string[] = [
  annotations.createdAt,
  annotations.expiredAt,
];

/** The annotations that only Latchkey and its policies may write. */
export const lockedAnnotations: readonly string[] = [
  annotations.requester,
  annotations.requesterUid,
  annotations.requesterGroups,
  annotations.requesterKeyId,
  annotations.formerRequester,
  ...lifetimeAnnotations,
];

const keptAnnotations: readonly string[] = [...lockedAnnotations, annotations.connectorData];

/**
 * The requester annotations of an object; undefined when it has none. Does not check whether they
 * can be trusted.
 */
export function requesterAnnotationsOf(
  metadata: Pick<Metadata, "annotations">,
): RequesterAnnotations | undefined {
  const name = metadata.annotations[annotations.requester] ?? "";
  if (name === "") return undefined;
  const groups = metadata.annotations[annotations.requesterGroups] ?? "";
  const keyId = metadata.annotations[annotations.requesterKeyId];
  return {
    name,
    uid: metadata.annotations[annotations.requesterUid] ?? "",
    groups: groups.split("\n").filter((entry) => entry !== ""),
    ...(keyId === undefined ? {} : { keyId }),
  };
}

/**
 * ObjectMeta with no annotation but what Latchkey and its policies write, and no label:
 * `last-applied-configuration` repeats the whole object, its key or token included. Throws a
 * TypeError that names the missing field.
 */
export function parseRequestedMetadata(raw: unknown): Metadata {
  const metadata = parseMetadata(raw);
  const kept = Object.entries(metadata.annotations).filter(([name]) =>
    keptAnnotations.includes(name),
  );
  return { ...metadata, labels: {}, annotations: Object.fromEntries(kept) };
}
