import { annotations } from "./names.ts";
import type { Annotated, Metadata } from "./object.ts";
import { parseMetadata } from "./parse.ts";

/**
 * The requester of a key or token, as recorded by the admission policies in annotations of the
 * object.
 */
export interface RequesterAnnotations {
  readonly name: string;
  /** Empty if the authenticator sets no uid. */
  readonly uid: string;
  readonly groups: readonly string[];
  /** The uid of the access key that authenticated the request; absent for other credentials. */
  readonly keyId?: string;
}

/** The requester of an object, or why it could not be verified. */
export type Requester =
  | ({ readonly kind: "known" } & RequesterAnnotations)
  | { readonly kind: "unknown"; readonly why: string };

/**
 * The annotations that record the start and the end of a lifetime across a restore: the controller
 * writes them, and a create keeps them.
 */
export const lifetimeAnnotations: readonly string[] = [
  annotations.createdAt,
  annotations.expiredAt,
];

/**
 * The annotations that only Latchkey and its policies may write. A create may set
 * `audience-cluster`, which never changes.
 */
export const lockedAnnotations: readonly string[] = [
  annotations.requester,
  annotations.requesterUid,
  annotations.requesterGroups,
  annotations.requesterKeyId,
  annotations.credentialEnds,
  annotations.formerRequester,
  annotations.audienceCluster,
  ...lifetimeAnnotations,
];

const keptAnnotations: readonly string[] = [
  ...lockedAnnotations,
  annotations.issuer,
  annotations.claims,
  annotations.connectorData,
];

/**
 * The requester annotations of an object; undefined when it has none. Does not check whether they
 * can be trusted.
 */
export function requesterAnnotationsOf(metadata: Annotated): RequesterAnnotations | undefined {
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
 * Parses ObjectMeta without labels, and with only the annotations that Latchkey and its policies
 * write: `last-applied-configuration` repeats the whole object, including its key or token. Throws
 * a TypeError that names the missing field.
 */
export function parseRequestedMetadata(raw: unknown): Metadata {
  const metadata = parseMetadata(raw);
  const kept = Object.entries(metadata.annotations).filter(([name]) =>
    keptAnnotations.includes(name),
  );
  return { ...metadata, labels: {}, annotations: Object.fromEntries(kept) };
}
