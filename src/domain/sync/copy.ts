import type { MetadataKey } from "../../api/known-keys.ts";
import { annotations, labels } from "../../api/names.ts";
import type { Manifest, Marks, Metadata, ObjectRef, OwnerReference } from "../../api/object.ts";
import { apiVersionOf, resources } from "../../api/resources.ts";
import { SecretText } from "../../api/secret-text.ts";
import type { SecretData, SharedSecret, SharedSecretWithData } from "../../api/shared-secret.ts";
import type { Wire } from "../../api/wire.ts";
import { allowedMetadata, hasCopyMetadata, withCopyMetadata, without } from "./copy-metadata.ts";
import type { DataFrom } from "./data-from.ts";
import { filledValue } from "./placeholder.ts";
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
  /** Digest of its own data, to compare it with that of a placeholder. */
  readonly ownDigest: string;
  /**
   * Digest of each value of its own data, to compare them with those of a placeholder with
   * `sync-keys`; absent if there are more than {@link mostKeysToPickFrom}.
   */
  readonly values?: Readonly<Record<string, string>>;
  /**
   * The data of its copies; absent if it is too large to cache, and derived again when a copy is
   * written.
   */
  readonly data?: SecretData;
  readonly options: SyncOptions;
  /** Where the data comes from; absent if it is that of the SharedSecret. */
  readonly followed?: Followed;
}

/** The Secret that a SharedSecret follows. */
export interface Followed extends DataFrom {
  /**
   * Whether there is data of it: `unread` until it is read, so that nothing is decided; `none` if
   * there is none, as `problem` or `refusal` of the options says.
   */
  readonly state: "unread" | "data" | "none";
  /** The version of the Secret that the data is of. */
  readonly version?: string;
  /** Whether it changes so often that the data is not always the current one. */
  readonly changesOften?: true;
}

/** Maximum characters of cached keys and values, and the overhead of a key. */
const cacheLimit = { most: 8 * 1024, perKey: 100 } as const;

/** The data that copies have, or the data of the SharedSecret itself, which placeholders have. */
export type DataVariant = "copied" | "own";

/** The data of copies, or why it cannot be derived from that of the SharedSecret. */
export type CopiedData =
  | { readonly kind: "data"; readonly data: SecretData }
  | { readonly kind: "refused"; readonly why: string };

/** Digests of the data of a SharedSecret. */
interface SourceDigests extends Pick<Source, "digest" | "values"> {
  /** Absent if its copies have its own data. */
  readonly ownDigest?: string;
}

/** The cached form of a SharedSecret. */
export function sourceOf(
  { data: own, keys, ...secret }: SharedSecretWithData,
  digests: SourceDigests,
  copied: CopiedData = { kind: "data", data: own },
  type?: string,
): Source {
  const { metadata } = secret;
  const size = dataSize(own);
  const base = { secret, keys, size, ownDigest: digests.digest, ...digests };
  if (copied.kind === "refused")
    return {
      ...base,
      options: syncOptionsOf({ metadata, data: own, underivable: copied.why, type }),
    };
  const { data } = copied;
  const count = data === own ? keys : Object.keys(data).length;
  const isCached = dataSize(data) + count * cacheLimit.perKey <= cacheLimit.most;
  const options = syncOptionsOf({ metadata, data, type });
  return { ...base, ...(isCached ? { data } : {}), options };
}

/** Characters of the keys and values of data, in base64. */
export function dataSize(data: SecretData): number {
  return Object.entries(data).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}

/**
 * The source as a namespace receives it: without the labels and annotations that are not allowed
 * there.
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

/**
 * A Secret with Latchkey's label, or a placeholder: its metadata, and a digest instead of its data.
 */
export interface ObservedCopy {
  readonly metadata: Metadata;
  readonly ownerReferences: readonly OwnerReference[];
  readonly type: string;
  readonly immutable: boolean;
  readonly digest: string;
  /** Whether its data is the least that its type allows, so that it has none of a source. */
  readonly hasLeastData?: true;
  /**
   * Digest of each value of a placeholder with `sync-keys`; absent if it has more than
   * {@link mostPickedKeys}.
   */
  readonly values?: Readonly<Record<string, string>>;
  readonly unknownKeys?: readonly MetadataKey[];
}

/** A Secret without Latchkey's label that is no placeholder. */
export interface UnmanagedSecret {
  readonly metadata: Metadata;
  /** Its labels and annotations without effect; absent if there are none. */
  readonly unknownKeys?: readonly MetadataKey[];
}

/** A Secret, as it is observed at a target. */
export type TargetSecret = ObservedCopy | UnmanagedSecret;

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
  return (
    copy.digest === source.digest &&
    copy.type === source.options.secretType &&
    copy.metadata.annotations[annotations.filled] === undefined &&
    hasMarks(copy, source) &&
    hasCopyMetadata(copy.metadata, source.options.copyMetadata)
  );
}

/** Whether a Secret has the label and the annotation of a copy of this source, and no error. */
export function hasMarks({ metadata }: ObservedCopy, { secret }: Source): boolean {
  return (
    metadata.labels[labels.sourceUid] === secret.metadata.uid &&
    metadata.annotations[annotations.copyOf] === copyOfText(secret.metadata, metadata) &&
    metadata.annotations[annotations.syncError] === undefined
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
        ...without(copied.annotations, [annotations.filled, annotations.syncError]),
        [annotations.copyOf]: copyOfText(source.secret.metadata, target),
      },
    },
    type: source.options.secretType,
    ...(over?.immutable === true ? { immutable: true } : {}),
    data,
  } satisfies Wire<"Secret">;
}

/** The manifest of a placeholder with this data; its name, type and other metadata are kept. */
export function filledManifest(
  { source, data }: { readonly source: Source; readonly data: SecretData },
  over: ObservedCopy,
): Manifest {
  const { copyMetadata: _, ...options } = { ...source.options, secretType: over.type };
  const manifest = copyManifest({ source: { ...source, options }, data }, refTo(over), over);
  const { metadata } = manifest;
  const marks = { ...metadata.annotations, [annotations.filled]: filledValue };
  return { ...manifest, metadata: { ...metadata, annotations: marks } };
}

/**
 * The manifest of a Secret that is no longer filled: without Latchkey's marks, with the least data
 * that its type allows, and with the reason if it is still a placeholder.
 */
export function emptiedManifest(over: ObservedCopy, why: string | undefined): Manifest {
  const { labels: given, annotations: others } = withoutMarks(over.metadata);
  const error = why === undefined ? {} : { [annotations.syncError]: why };
  return leastManifest(over, { labels: given, annotations: { ...others, ...error } });
}

/**
 * The manifest of a copy that is still there after its deletion: with the least data that its type
 * allows, and with Latchkey's marks, so that it is deleted later.
 */
export function emptiedCopyManifest(over: ObservedCopy): Manifest {
  return leastManifest(over, over.metadata);
}

function leastManifest(over: ObservedCopy, { labels: given, annotations: marks }: Marks): Manifest {
  return {
    apiVersion: apiVersionOf(resources.secrets),
    kind: resources.secrets.kind,
    metadata: {
      ...refTo(over),
      ...existingMetadata(over),
      labels: given,
      annotations: marks,
    },
    type: over.type,
    data: leastData(over.type),
  } satisfies Wire<"Secret">;
}

/** The metadata of a Secret without the labels and annotations that Latchkey has set. */
export function withoutMarks(metadata: Metadata): Metadata {
  const { labels: given, annotations: others } = withCopyMetadata(metadata, undefined);
  return {
    ...metadata,
    labels: without(given, [labels.sourceUid]),
    annotations: without(others, [annotations.copyOf, annotations.filled, annotations.syncError]),
  };
}

function refTo({ metadata: { namespace, name } }: ObservedCopy): ObjectRef {
  return { ...(namespace === undefined ? {} : { namespace }), name };
}

/** The data without which the API server rejects a Secret of a type (ValidateSecret). */
export function leastData(type: string): SecretData {
  switch (type) {
    case "kubernetes.io/tls":
      return { "tls.crt": emptyText, "tls.key": emptyText };
    case "kubernetes.io/basic-auth":
      return { username: emptyText };
    case "kubernetes.io/ssh-auth":
      return { "ssh-privatekey": space };
    case "kubernetes.io/dockerconfigjson":
      return { ".dockerconfigjson": emptyJson };
    case "kubernetes.io/dockercfg":
      return { ".dockercfg": emptyJson };
    default:
      return {};
  }
}

// In base64. The API server rejects an empty key of SSH, and an empty text as JSON.
const emptyText = new SecretText("");
const emptyJson = new SecretText("e30=");
const space = new SecretText("IA==");

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
