import { isRecord, recordAt, stringMapAt } from "../../api/parse.ts";
import { outboxEntryOf } from "../../domain/outbox/outbox-entry.ts";

/** Maximum characters of the options of an entry; the central cluster reads no larger ones. */
const mostOptionText = 64 * 1024;

/**
 * Reads a Secret of an outbox as a SharedSecret, whose field `unsupported` names what this version
 * does not know; undefined for a Secret that is no entry.
 */
export function readEntry(raw: unknown): unknown {
  const entry = outboxEntryOf(raw);
  const sharedSecret = entry?.sharedSecret;
  if (entry === undefined || !isRecord(sharedSecret)) return undefined;
  const options = stringMapAt(recordAt(sharedSecret, "metadata"), "annotations");
  const size = Object.entries(options).reduce((sum, pair) => sum + pair.join("").length, 0);
  if (size > mostOptionText) return undefined;
  return entry.kind === "source" && entry.unsupported !== undefined
    ? { ...sharedSecret, unsupported: entry.unsupported }
    : sharedSecret;
}
