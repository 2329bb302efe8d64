import { parseSecret } from "../api/secret.ts";
import { parseSharedSecret } from "../api/shared-secret.ts";
import { type ObservedCopy, type Source, sourceOf } from "../domain/sync/copy.ts";
import { copiedData } from "./copied-data.ts";
import type { DataDigest } from "./data-digest.ts";

/** Parses a SharedSecret, with a digest of the data of its copies and without large data. */
export function observedSource(raw: unknown, digestOf: DataDigest): Source {
  const secret = parseSharedSecret(raw);
  const copied = copiedData(secret);
  return sourceOf(secret, digestOf(copied.kind === "data" ? copied.data : secret.data), copied);
}

/** Parses a Secret with Latchkey's label, with a digest instead of its data. */
export function observedCopy(raw: unknown, digestOf: DataDigest): ObservedCopy {
  const { data, ...rest } = parseSecret(raw);
  return { ...rest, digest: digestOf(data) };
}
