import { errorCode } from "./read-text-file.ts";

/**
 * Why something failed, which is never empty: the code of the system, of undici or of OpenSSL, or
 * else the message. Errors of an attempt with several addresses have neither, but their parts do.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "no response";
  // An end by a signal is named AbortError or TimeoutError; its message is the same for all.
  if (error instanceof DOMException) return error.name;
  const parts = error instanceof AggregateError ? error.errors.map(reasonOf) : [];
  return errorCode(error) || [...new Set(parts)].join(", ") || error.message.trim() || error.name;
}
