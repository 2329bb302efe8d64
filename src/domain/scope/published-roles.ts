import type { PolicyRule } from "../../api/role.ts";
import type { ScopeRoles } from "./scope-roles.ts";

/** What roles mean, as connected clusters learn it. */
export interface PublishedRoles {
  /** In the order of their names. */
  readonly roles: readonly PublishedRole[];
  /** The names of the roles that are too large; they cover nothing in connected clusters. */
  readonly omitted: readonly string[];
}

/** One role. */
export interface PublishedRole {
  readonly role: string;
  readonly rules: readonly PolicyRule[];
}

/** Maximum size of all published roles together, as JSON, in bytes. */
export const mostRoleBytes = 256 * 1024;

/**
 * The roles that are published. If all of them are larger than `mostBytes`, the largest are left
 * out, so that one very large role costs no other.
 */
export function publishedRoles(roles: ScopeRoles, mostBytes = mostRoleBytes): PublishedRoles {
  const bySize = [...roles]
    .map(([role, rules]) => ({
      role,
      rules,
      size: Buffer.byteLength(JSON.stringify([role, rules])),
    }))
    .sort((one, other) => one.size - other.size || (one.role < other.role ? -1 : 1));
  let total = 0;
  const fits = bySize.filter(({ size }) => (total += size) <= mostBytes);
  const published = fits.map(({ role, rules }) => ({ role, rules }));
  return {
    roles: published.sort((one, other) => (one.role < other.role ? -1 : 1)),
    omitted: bySize
      .slice(fits.length)
      .map(({ role }) => role)
      .sort(),
  };
}
