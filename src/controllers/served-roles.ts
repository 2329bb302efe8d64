import { hashName } from "../domain/hash-name.ts";
import { publishedRoles, type PublishedRoles } from "../domain/scope/published-roles.ts";
import { scopeRolesIn } from "../domain/scope/scope-roles.ts";
import type { Logger } from "../runtime/log.ts";
import { signRolesList } from "../tokens/roles-list.ts";
import type { ObservedSigningKeys } from "../tokens/signing-keys.ts";
import type { ServedList } from "./list-polls.ts";
import type { Published } from "./published-kinds.ts";
import type { Stores } from "./stores.ts";

/** Dependencies of {@link ServedRoles}. */
interface ServedRolesDeps {
  readonly stores: Pick<Stores, "scopeRoles">;
  readonly published: Published;
  readonly log: Logger;
}

const mostNames = 5;

/**
 * The list of roles as it is served: its version is a hash of its content and of the signing key,
 * so that all replicas have the same.
 */
export class ServedRoles implements ServedList {
  readonly noun = "list of roles";
  readonly #issuer: string;
  readonly #deps: ServedRolesDeps;
  #current: PublishedRoles | undefined;
  #version: { readonly kid: string; readonly text: string } | undefined;

  constructor(issuer: string, deps: ServedRolesDeps) {
    this.#issuer = issuer;
    this.#deps = deps;
    deps.published.onChange(() => (this.#current = this.#version = undefined));
  }

  /** The roles that are published. */
  published(): PublishedRoles {
    if (this.#current !== undefined) return this.#current;
    const { stores, log } = this.#deps;
    const current = publishedRoles(scopeRolesIn(stores.scopeRoles.values()));
    this.#current = current;
    const omitted = current.omitted.slice(0, mostNames);
    if (omitted.length > 0)
      log.warn(
        { objects: omitted, omitted: current.omitted.length },
        "roles of scopes are too large",
      );
    return current;
  }

  /** Which roles are left out, in one sentence. */
  warnings(): readonly string[] {
    const { omitted } = this.published();
    const names = omitted.slice(0, mostNames).join(", ");
    return omitted.length === 0
      ? []
      : [
          `${omitted.length} roles of scopes are too large to be published and cover nothing in ` +
            `connected clusters: ${names}; give them fewer rules`,
        ];
  }

  version({ signing: { kid } }: ObservedSigningKeys): string {
    const { roles, omitted } = this.published();
    if (this.#version?.kid !== kid)
      this.#version = { kid, text: hashName([kid, roles, omitted], 32) };
    return this.#version.text;
  }

  /** A version says nothing about its age. */
  isAhead(): boolean {
    return false;
  }

  sign(
    keys: ObservedSigningKeys,
    { version, now }: { readonly version: string; readonly now: number },
  ): Promise<string> {
    const terms = { issuer: this.#issuer, now, version, published: this.published() };
    return signRolesList(terms, keys);
  }
}
