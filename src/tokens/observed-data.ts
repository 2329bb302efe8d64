import { annotations } from "../api/names.ts";
import { parseSecret } from "../api/secret.ts";
import { parseSharedSecret, type SecretData } from "../api/shared-secret.ts";
import { type ObservedCopy, type Source, sourceOf } from "../domain/sync/copy.ts";
import { isPlaceholder, mostKeysToPickFrom, mostPickedKeys } from "../domain/sync/placeholder.ts";
import { copiedData } from "./copied-data.ts";
import type { DataDigest } from "./data-digest.ts";

/** Parses a SharedSecret into its cached form, with digests instead of large data. */
export function observedSource(raw: unknown, digestOf: DataDigest): Source {
  const secret = parseSharedSecret(raw);
  const copied = copiedData(secret);
  const own = digestOf(secret.data);
  const hasOwnForm = copied.kind === "data" && copied.data !== secret.data;
  const digests = hasOwnForm ? { digest: digestOf(copied.data), ownDigest: own } : { digest: own };
  const values = valueDigests(secret.data, mostKeysToPickFrom, digestOf);
  return sourceOf(secret, { ...digests, ...(values === undefined ? {} : { values }) }, copied);
}

/** Parses a copy or a placeholder into its cached form, with digests instead of its data. */
export function observedCopy(raw: unknown, digestOf: DataDigest): ObservedCopy {
  const { data, ...rest } = parseSecret(raw);
  const { metadata } = rest;
  const picks = isPlaceholder(metadata) && metadata.annotations[annotations.syncKeys] !== undefined;
  const values = picks ? valueDigests(data, mostPickedKeys, digestOf) : undefined;
  return { ...rest, digest: digestOf(data), ...(values === undefined ? {} : { values }) };
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
