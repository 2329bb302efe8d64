import { annotations, labels } from "../../api/names.ts";
import type { Manifest, Metadata, ObjectRef, OwnerReference } from "../../api/object.ts";
import { apiVersionOf, resources } from "../../api/resources.ts";
import type { SecretData, SharedSecret, SharedSecretWithData } from "../../api/shared-secret.ts";
import { allowedMetadata, hasCopyMetadata, withCopyMetadata } from "./copy-metadata.ts";
import { type SyncOptions, syncOptionsOf } from "./sync-options.ts";

/** A SharedSecret in memory: the fields that plans need, and its data only if it is small. */
export interface Source {
  readonly secret: SharedSecret;
  /** Number of keys of its data. */
  readonly keys: number;
  /** Characters of all keys and values of its data. */
  readonly size: number;
  /** Digest of the data of its copies, to compare it with that of a copy. */
  readonly digest: string;
  /**
   * The data of its copies; absent if it is too large to cache, and derived again when a copy is
   * written.
   */
  readonly data?: SecretData;
  readonly options: SyncOptions;
}

/** Maximum characters of cached keys and values, and the overhead of a key. */
const cacheLimit = { most: 8 * 1024, perKey: 100 } as const;

/** The data of copies, or why it cannot be derived from that of the SharedSecret. */
export type CopiedData =
  | { readonly kind: "data"; readonly data: SecretData }
  | { readonly kind: "refused"; readonly why: string };

/** The cached form of a SharedSecret; the data of its copies has this digest. */
export function sourceOf(
  { data: own, keys, ...secret }: SharedSecretWithData,
  digest: string,
  copied: CopiedData = { kind: "data", data: own },
): Source {
  const { metadata } = secret;
  const size = sizeOf(own);
  if (copied.kind === "refused")
    return {
      ...{ secret, keys, size, digest },
      options: syncOptionsOf({ metadata, data: own, underivable: copied.why }),
    };
  const { data } = copied;
  const count = data === own ? keys : Object.keys(data).length;
  const isCached = sizeOf(data) + count * cacheLimit.perKey <= cacheLimit.most;
  const options = syncOptionsOf({ metadata, data });
  return { secret, keys, size, digest, ...(isCached ? { data } : {}), options };
}

function sizeOf(data: SecretData): number {
  return Object.entries(data).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}

/**
 * The source as a namespace receives it: without the labels and annotations that its
 * `allow-copy-keys` does not allow.
 */
export function sourceFor(source: Source, allowCopyKeys: string | undefined): Source {
  const { copyMetadata, ...options } = source.options;
  if (copyMetadata === undefined) return source;
  const allowed = allowedMetadata(copyMetadata, allowCopyKeys);
  if (allowed === copyMetadata) return source;
  return {
    ...source,
    options: allowed === undefined ? options : { ...options, copyMetadata: allowed },
  };
}

/** A Secret with Latchkey's label: its metadata, and a digest instead of its data. */
export interface ObservedCopy {
  readonly metadata: Metadata;
  readonly ownerReferences: readonly OwnerReference[];
  readonly type: string;
  readonly immutable: boolean;
  readonly digest: string;
}

/** A Secret without Latchkey's label. */
export interface UnmanagedSecret {
  readonly metadata: Metadata;
}

/** The value of the `copy-of` annotation: the source SharedSecret and the target Secret. */
export function copyOfText(source: ObjectRef, target: ObjectRef): string {
  return `${source.namespace ?? ""}/${source.name} -> ${target.namespace ?? ""}/${target.name}`;
}

/**
 * The SharedSecret in the `copy-of` annotation of a Secret; undefined if the annotation is missing
 * or names another Secret.
 */
export function copiedSource({ annotations: given, ...target }: Metadata): ObjectRef | undefined {
  const copyOf = readCopyOf(given[annotations.copyOf]);
  return copyOf?.target === `${target.namespace ?? ""}/${target.name}` ? copyOf.source : undefined;
}

/** Whether a Secret has the `copy-of` annotation of another Secret, because a user copied it. */
export function isCopiedByUser(metadata: Metadata): boolean {
  return (
    readCopyOf(metadata.annotations[annotations.copyOf]) !== undefined &&
    copiedSource(metadata) === undefined
  );
}

const copyOfForm = /^([^/ ]+)\/([^/ ]+) -> ([^/ ]+\/[^/ ]+)$/;

function readCopyOf(
  text: string | undefined,
): { readonly source: ObjectRef; readonly target: string } | undefined {
  const [, namespace, name, target] = copyOfForm.exec(text ?? "") ?? [];
  if (namespace === undefined || name === undefined || target === undefined) return undefined;
  return { source: { namespace, name }, target };
}

/** Whether a copy has the data of the source and Latchkey's labels and annotations. */
export function isCurrent(copy: ObservedCopy, source: Source): boolean {
  const { labels: existingLabels, annotations: existing } = copy.metadata;
  return (
    copy.digest === source.digest &&
    copy.type === source.options.secretType &&
    existingLabels[labels.sourceUid] === source.secret.metadata.uid &&
    existing[annotations.copyOf] === copyOfText(source.secret.metadata, copy.metadata) &&
    existing[annotations.syncError] === undefined &&
    hasCopyMetadata(copy.metadata, source.options.copyMetadata)
  );
}

/**
 * The manifest of a copy with the data of its source; other metadata of an existing Secret is kept.
 */
export function copyManifest(
  { source, data }: { readonly source: Source; readonly data: SecretData },
  target: ObjectRef,
  over?: ObservedCopy,
): Manifest {
  const copied = withCopyMetadata(over?.metadata, source.options.copyMetadata);
  return {
    apiVersion: apiVersionOf(resources.secrets),
    kind: resources.secrets.kind,
    metadata: {
      ...target,
      ...(over === undefined ? {} : existingMetadata(over)),
      labels: { ...copied.labels, [labels.sourceUid]: source.secret.metadata.uid },
      annotations: {
        ...withoutError(copied.annotations),
        [annotations.copyOf]: copyOfText(source.secret.metadata, target),
      },
    },
    type: source.options.secretType,
    ...(over?.immutable === true ? { immutable: true } : {}),
    data,
  };
}

function existingMetadata({
  metadata,
  ownerReferences,
}: ObservedCopy): Partial<Manifest["metadata"]> {
  const { uid, resourceVersion, finalizers } = metadata;
  return {
    uid,
    resourceVersion,
    ...(finalizers.length === 0 ? {} : { finalizers }),
    ...(ownerReferences.length === 0 ? {} : { ownerReferences }),
  };
}

function withoutError(
  existing: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { [annotations.syncError]: _, ...rest } = existing;
  return rest;
}
