import { annotations } from "../api/names.ts";
import { SecretText } from "../api/secret-text.ts";
import { parseSecret } from "../api/secret.ts";
import {
  parseSharedSecret,
  type SecretData,
  mostDataKeys,
  type SharedSecret,
  type SharedSecretWithData,
} from "../api/shared-secret.ts";
import type { ObservedOutboxSecret } from "../domain/outbox/outbox-secret.ts";
import {
  type ObservedCopy,
  type Source,
  type CopiedData,
  dataSize,
  leastData,
  sourceOf,
} from "../domain/sync/copy.ts";
import { type DataFrom, dataFromOf } from "../domain/sync/data-from.ts";
import type { FollowedData } from "../domain/sync/source-secret.ts";
import type { SyncOptions } from "../domain/sync/sync-options.ts";
import { isPlaceholder, mostKeysToPickFrom, mostPickedKeys } from "../domain/sync/placeholder.ts";
import { derivedText, syncFormatOf } from "../domain/sync/sync-format.ts";
import type { DataDigest } from "./data-digest.ts";

/**
 * Parses a SharedSecret into its cached form, with digests instead of large data. One that follows
 * a Secret has no data until {@link followingSource} adds it.
 */
export function observedSource(raw: unknown, digestOf: DataDigest): Source {
  const secret = parseSharedSecret(raw);
  const option = dataFromOf(secret.metadata);
  if (option.kind !== "from") return sourceWith(secret, digestOf);
  if (secret.keys === 0) return followingSource(secret, option.from, undefined, digestOf);
  const source = sourceWith(secret, digestOf);
  const message =
    `${annotations.dataFrom}: a SharedSecret has data of its own or of a Secret; ` +
    "remove the annotation, or spec.data";
  return {
    ...source,
    options: { ...source.options, problem: { reason: "SourceInvalid", message } },
  };
}

/** A SharedSecret with what it has of the Secret that it follows; undefined until that is read. */
export function followingSource(
  secret: SharedSecret,
  from: DataFrom,
  followed: FollowedData | undefined,
  digestOf: DataDigest,
): Source {
  if (followed?.kind === "data") {
    const { data, type, metadata } = followed;
    const whole = { ...secret, data, keys: Object.keys(data).length };
    const version = `${metadata.uid} ${metadata.resourceVersion}`;
    return {
      ...sourceWith(whole, digestOf, type),
      followed: { ...from, state: "data", version },
    };
  }
  const state = followed === undefined ? "unread" : "none";
  const source = sourceOf({ ...secret, data: {}, keys: 0 }, { digest: "" });
  return {
    ...source,
    options: withoutData(source.options, from, followed),
    followed: { ...from, state },
  };
}

function withoutData(
  options: SyncOptions,
  { name }: DataFrom,
  followed: Exclude<FollowedData, { readonly kind: "data" }> | undefined,
): SyncOptions {
  const message =
    followed?.message ?? `${annotations.dataFrom}: Secret ${JSON.stringify(name)} is not read yet`;
  if (followed?.kind !== "withdrawn")
    return {
      ...options,
      problem: options.problem ?? { reason: followed?.reason ?? "Progressing", message },
    };
  const { problem: _, ...rest } = options;
  return { ...rest, projects: [], clusters: [], refusal: { reason: "SourceNotAllowed", message } };
}

function sourceWith(secret: SharedSecretWithData, digestOf: DataDigest, type?: string): Source {
  const copied = copiedData(secret);
  const own = digestOf(secret.data);
  const hasOwnForm = copied.kind === "data" && copied.data !== secret.data;
  const digests = hasOwnForm ? { digest: digestOf(copied.data), ownDigest: own } : { digest: own };
  const values = valueDigests(secret.data, mostKeysToPickFrom, digestOf);
  return sourceOf(
    secret,
    { ...digests, ...(values === undefined ? {} : { values }) },
    copied,
    type,
  );
}

/** Parses a copy or a placeholder into its cached form, with digests instead of its data. */
export function observedCopy(raw: unknown, digestOf: DataDigest): ObservedCopy {
  const { data, ...rest } = parseSecret(raw);
  const { metadata } = rest;
  const picks = isPlaceholder(metadata) && metadata.annotations[annotations.syncKeys] !== undefined;
  const values = picks ? valueDigests(data, mostPickedKeys, digestOf) : undefined;
  return {
    ...rest,
    digest: digestOf(data),
    ...(isLeastData(rest.type, data) && { hasLeastData: true as const }),
    ...(values === undefined ? {} : { values }),
  };
}

function isLeastData(type: string, data: SecretData): boolean {
  const least = Object.entries(leastData(type));
  if (least.length !== Object.keys(data).length) return false;
  return least.every(([key, text]) => {
    const value = Object.hasOwn(data, key) ? data[key] : undefined;
    return value !== undefined && SecretText.reveal(value) === SecretText.reveal(text);
  });
}

/** Parses a Secret of an outbox into its cached form, with a digest instead of its data. */
export function observedOutboxSecret(raw: unknown, digestOf: DataDigest): ObservedOutboxSecret {
  const { metadata, immutable, data } = parseSecret(raw);
  return { metadata, immutable, digest: digestOf(data), size: dataSize(data) };
}

/** The digest of each value; undefined if there are more than `most`. */
function valueDigests(
  data: SecretData,
  most: number,
  digestOf: DataDigest,
): Readonly<Record<string, string>> | undefined {
  const entries = Object.entries(data);
  if (entries.length > most) return undefined;
  return Object.fromEntries(entries.map(([key, value]) => [key, digestOf({ value })]));
}

/**
 * Returns the data that the copies of a SharedSecret have: its data, or the form that its option
 * `sync-format` derives from it.
 */
export function copiedData({ metadata, data }: SharedSecretWithData): CopiedData {
  const option = syncFormatOf(metadata.annotations);
  const format = option.kind === "format" ? option.format : undefined;
  const dataKeys = Object.keys(data);
  // Invalid options and too many keys are reported with the other options.
  if (format === undefined || dataKeys.length > mostDataKeys) return { kind: "data", data };
  const derived = derivedText(format, dataKeys, (key) => bytesAt(data, key));
  if (derived.kind === "refused") return derived;
  const value = new SecretText(Buffer.from(derived.text).toString("base64"));
  return { kind: "data", data: { [format.key]: value } };
}

function bytesAt(data: SecretData, key: string): Uint8Array | undefined {
  const value = Object.hasOwn(data, key) ? data[key] : undefined;
  return value === undefined ? undefined : Buffer.from(SecretText.reveal(value), "base64");
}
