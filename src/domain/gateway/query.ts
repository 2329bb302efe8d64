/** The parameters of a query in their order, names and values decoded. */
export type QueryParameters = readonly (readonly [name: string, value: string | undefined])[];

/**
 * Parses a query (with its question mark, or empty) as Go's `url.ParseQuery` does. A name or value
 * that is not UTF-8 is undefined, and such a name is left out, because it is none that counts.
 */
export function parseQuery(query: string): QueryParameters {
  if (query.length < 2) return [];
  return query
    .slice(1)
    .split("&")
    .filter((part) => part !== "")
    .flatMap((part) => {
      const at = part.indexOf("=");
      const name = unescaped(at < 0 ? part : part.slice(0, at));
      return name === undefined
        ? []
        : [[name, unescaped(at < 0 ? "" : part.slice(at + 1))] as const];
    });
}

/** The values of a parameter. */
export function parameterValues(
  parameters: QueryParameters,
  name: string,
): readonly (string | undefined)[] {
  return parameters.filter(([found]) => found === name).map(([, value]) => value);
}

function unescaped(text: string): string | undefined {
  return percentDecoded(text.replaceAll("+", " "));
}

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
