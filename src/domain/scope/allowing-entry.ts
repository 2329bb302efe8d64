import type { ScopeLimit } from "../../api/scope.ts";
import { allows, type ScopeContext } from "./allows.ts";
import type { ScopedRequest } from "./request.ts";
import { emptyScope, scopeEntries } from "./scope-entries.ts";

/**
 * The path of the first entry of a scope that allows a request, such as `spec.scope.rules[2]`;
 * undefined if none does, or if no entry is needed.
 */
export function allowingEntry(
  limit: ScopeLimit,
  request: ScopedRequest,
  context: ScopeContext,
): string | undefined {
  if (allows(emptyScope, request, context).kind === "allowed") return undefined;
  return scopeEntries(limit, request, context).find(({ isAllowed }) => isAllowed)?.field;
}
