import { CORE_SCHEMA, load } from "js-yaml";
import { issuersOf } from "../../domain/oidc/issuer-entries.ts";
import type { Issuers } from "../../domain/oidc/trusted-tokens.ts";

/** The issuers of the ConfigMap `latchkey-issuers`, or why its text is refused. */
export function issuersResult(raw: unknown): ReturnType<typeof issuersOf> {
  return issuersOf(raw, { audiences: [], issuer: undefined }, (text, maxDepth) =>
    load(text, { schema: CORE_SCHEMA, maxDepth }),
  );
}

/** The same; none for a text that is refused, whatever running processes still use. */
export function issuersInConfigMap(raw: unknown): Issuers {
  const result = issuersResult(raw);
  return new Map(
    result.kind === "issuers" ? result.issuers.map((entry) => [entry.url, entry]) : [],
  );
}
