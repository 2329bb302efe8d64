/** Header names and values in turn, as they were sent; values are Latin-1 texts of bytes. */
export type RawHeaders = readonly string[];

/** The fields of raw headers, with names in lower case. */
export function fieldsOf(raw: RawHeaders): readonly (readonly [name: string, value: string])[] {
  const fields: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2)
    fields.push([(raw[at] ?? "").toLowerCase(), raw[at + 1] ?? ""]);
  return fields;
}

/** The values of a field, whose name is in lower case. */
export function valuesOfField(raw: RawHeaders, name: string): readonly string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const found = raw[at] ?? "";
    if (found.length === name.length && found.toLowerCase() === name)
      values.push(raw[at + 1] ?? "");
  }
  return values;
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
