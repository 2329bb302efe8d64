/**
 * Header names, in lower case, and values in turn, in the order in which they were sent; values are
 * Latin-1 texts of bytes.
 */
export type RawHeaders = readonly string[];

/** The values of a field. */
export function valuesOfField(raw: RawHeaders, name: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2)
    if (raw[at] === name) values.push(raw[at + 1] ?? "");
  return values;
}

/** Whether a field has such a name. */
export function hasName(raw: RawHeaders, isSuch: (name: string) => boolean): boolean {
  for (let at = 0; at + 1 < raw.length; at += 2) if (isSuch(raw[at] ?? "")) return true;
  return false;
}

/** The fields with such names. */
export function fieldsNamed(raw: RawHeaders, isSuch: (name: string) => boolean): string[] {
  const fields: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? "";
    if (isSuch(name)) fields.push(name, raw[at + 1] ?? "");
  }
  return fields;
}

/** The members of a list in a field (RFC 9110, section 5.6.1), in lower case. */
export function tokensOf(raw: RawHeaders, name: string): readonly string[] {
  const tokens = valuesOfField(raw, name).flatMap((value) => value.match(/[^\s,][^,]*/g) ?? []);
  return tokens.map((token) => token.trimEnd().toLowerCase());
}

/** Fields that belong to one connection (RFC 9110, section 7.6.1). */
export const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-authentication-info",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);
