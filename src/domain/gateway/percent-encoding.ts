const invalidPercent = /%(?![0-9a-fA-F]{2})/;

/**
 * A percent-encoded text decoded as UTF-8 (RFC 3986, section 2.1); undefined if a percent sign does
 * not begin two hexadecimal digits, or if the bytes are not UTF-8.
 */
export function percentDecoded(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Whether every percent sign of a text begins two hexadecimal digits. */
export function hasValidPercents(text: string): boolean {
  return !invalidPercent.test(text);
}
