import { SecretText } from "../api/secret-text.ts";
import { mostDataKeys, type SecretData, type SharedSecretWithData } from "../api/shared-secret.ts";
import type { CopiedData } from "../domain/sync/copy.ts";
import { derivedText } from "../domain/sync/derived-text.ts";
import { syncFormatOf } from "../domain/sync/sync-format.ts";

/**
 * Returns the data that the copies of a SharedSecret have: its data, or the form that its option
 * `sync-format` derives from it.
 */
export function copiedData({
  metadata,
  data,
}: Pick<SharedSecretWithData, "metadata" | "data">): CopiedData {
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
