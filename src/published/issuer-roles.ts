import { readingBounds } from "../api/reading-bounds.ts";
import type { ScopeRoles } from "../domain/scope/scope-roles.ts";
import {
  isRolesVersion,
  type RolesList,
  rolesListProblems,
  verifyRolesList,
} from "../tokens/roles-list.ts";
import type { FollowedList } from "./followed-list.ts";
import type { PublishedList } from "./published-list.ts";

/** The clocks of both clusters may differ, and the issuer signs a list again after a minute. */
const mostAgeMs = 600_000;

/** The list of roles; any other version is a newer one. */
export const rolesList: PublishedList<RolesList> = {
  noun: "list of roles",
  name: "roles",
  mostBytes: readingBounds.issuerRoles.bytes,
  // What the keys and the list of revoked tokens leave of a Secret.
  mostPersistedCharacters: 350_000,
  verify: verifyRolesList,
  refusals: [...rolesListProblems, "older"],
  versionOf: ({ version }) => version,
  isVersion: isRolesVersion,
  mostAgeMs,
  order: (known, { version }) => (known === version ? "same" : "newer"),
  olderProblem: ({ issuedAt }) =>
    `it was signed at ${new Date(issuedAt).toISOString()}, more than ten minutes ago; ` +
    "compare the clocks, and look for a cache before the issuer",
  sizeOf: ({ roles }) => roles.size,
};

const noRoles: ScopeRoles = new Map();

/** What roles mean, by the last list of the issuer. */
export class IssuerRoles {
  readonly #followed: FollowedList<RolesList>;

  constructor(followed: FollowedList<RolesList>) {
    this.#followed = followed;
  }

  /** The roles of now; none while no list is known. */
  current(): ScopeRoles {
    return (this.#followed.isKnown() ? this.#followed.last()?.roles : undefined) ?? noRoles;
  }

  /**
   * What entries of roles do not cover, in one sentence each. It is no problem: without roles, a
   * scope covers less.
   */
  warnings(): readonly string[] {
    const omitted = this.#followed.last()?.omitted ?? 0;
    const tooLarge = `the issuer left out ${omitted} roles that are too large; they cover nothing`;
    const unknown = this.#followed.problems().map((why) => `${why}; roles of scopes cover nothing`);
    return [...unknown, ...this.#followed.warnings(), ...(omitted > 0 ? [tooLarge] : [])];
  }
}
