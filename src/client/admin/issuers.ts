import { CORE_SCHEMA, load } from "js-yaml";
import { recordAt, stringAt } from "../../api/parse.ts";
import { readingBounds } from "../../api/reading-bounds.ts";
import { issuersDataKey, parseIssuerEntries } from "../../domain/oidc/issuer-entries.ts";
import type { Issuers } from "../../domain/oidc/trusted-tokens.ts";

/** The issuers of the ConfigMap `latchkey-issuers`, or why its text is refused. */
export function issuersResult(raw: unknown): ReturnType<typeof parseIssuerEntries> {
  const text = stringAt(recordAt(raw, "data"), issuersDataKey) ?? "";
  const { depth: maxDepth } = readingBounds.issuers;
  try {
    return parseIssuerEntries(load(text, { schema: CORE_SCHEMA, maxDepth }), {
      audiences: [],
      issuer: undefined,
    });
  } catch {
    // The message of an error of the parser quotes the text.
    return { kind: "refused", field: "", problem: text === "" ? "is empty" : "is no YAML" };
  }
}

/** The same; none for a text that is refused, whatever running processes still use. */
export function issuersInConfigMap(raw: unknown): Issuers {
  const result = issuersResult(raw);
  return new Map(
    result.kind === "issuers" ? result.issuers.map((entry) => [entry.url, entry]) : [],
  );
}
