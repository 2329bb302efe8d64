const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses JSON of a text or of bytes in UTF-8 (RFC 8259 section 8.1); undefined if it is invalid,
 * without the error, which quotes the text.
 */
export function strictJson(source: string | Uint8Array): unknown {
  try {
    const parsed: unknown = JSON.parse(typeof source === "string" ? source : utf8.decode(source));
    return parsed;
  } catch {
    return undefined;
  }
}
