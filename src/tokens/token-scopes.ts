import { parseScope, type Scope } from "../api/scope.ts";
import { strictJson } from "./strict-json.ts";

/**
 * The scopes in the claim `scope` of a direct token, which must all allow a request: one, or a list
 * of at least one; undefined if any of them is invalid.
 */
export function tokenScopes(text: string): readonly Scope[] | undefined {
  const value = strictJson(text);
  const scopes = (Array.isArray(value) ? value : [value]).map(parseScope);
  const read = scopes.filter((scope) => scope !== undefined);
  return read.length === scopes.length && read.length > 0 ? read : undefined;
}
