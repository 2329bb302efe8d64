import { CORE_SCHEMA, load } from "js-yaml";
import { recordAt, stringAt } from "../../api/parse.ts";
import { readingBounds } from "../../api/reading-bounds.ts";
import { issuersDataKey, parseIssuerEntries } from "../../domain/oidc/issuer-entries.ts";
import type { Issuers } from "../../domain/oidc/trusted-tokens.ts";

/**
 * The issuers of the ConfigMap `latchkey-issuers`; none for a text that is refused, whatever
 * processes that read an earlier one still take.
 */
export function issuersInConfigMap(raw: unknown): Issuers {
  const text = stringAt(recordAt(raw, "data"), issuersDataKey) ?? "";
  const { depth: maxDepth } = readingBounds.issuers;
  try {
    const result = parseIssuerEntries(load(text, { schema: CORE_SCHEMA, maxDepth }), {
      audiences: [],
      issuer: undefined,
    });
    return new Map(
      result.kind === "issuers" ? result.issuers.map((entry) => [entry.url, entry]) : [],
    );
  } catch {
    return new Map();
  }
}
