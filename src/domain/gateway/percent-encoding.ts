const invalidPercent = /%(?![0-9a-fA-F]{2})/;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * A percent-encoded text decoded as UTF-8 (RFC 3986, section 2.1); undefined if a percent sign does
 * not begin two hexadecimal digits, or if the bytes are not UTF-8.
 */
export function percentDecoded(text: string): string | undefined {
  if (!text.includes("%")) return text;
  if (invalidPercent.test(text)) return undefined;
  const parts = text.split(/%([0-9a-fA-F]{2})/);
  const bytes = Buffer.concat(
    parts.map((part, index) => Buffer.from(part, index % 2 === 0 ? "latin1" : "hex")),
  );
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Whether every percent sign of a text begins two hexadecimal digits. */
export function hasValidPercents(text: string): boolean {
  return !invalidPercent.test(text);
}
