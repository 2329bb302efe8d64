import type { OwnedAccessKeySpec } from "../../api/owned-access-key.ts";

/**
 * What a key without a scope may do, as a part of a sentence. A key that was created with another
 * one may do nothing that the other may not.
 */
export function unscopedText(
  { user, team, subject }: Pick<OwnedAccessKeySpec, "user" | "team" | "subject">,
  { hasParent }: { readonly hasParent: boolean },
): string {
  const holder = user ?? (team === undefined ? subject : `team ${team}`) ?? "its user";
  const limit = hasParent ? ", as far as its parent key has them" : "";
  return `no scope: all rights of ${holder}${limit}`;
}
