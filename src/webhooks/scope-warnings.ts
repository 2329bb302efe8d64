import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import type { AdmissionRequest } from "../api/admission-review.ts";
import { recordAt } from "../api/parse.ts";
import { parseScopeLimit } from "../api/scope.ts";
import { isSame } from "../domain/plan/merge-patch.ts";
import { scopeWarnings } from "../domain/scope/scope-warnings.ts";
import type { Discovery } from "../kube/discovery.ts";

/** Dependencies of {@link newScopeWarnings}. */
interface ScopeWarningDeps {
  readonly accessKeys: Pick<AccessKeyCache, "roles" | "isFresh">;
  readonly discovery: Pick<Discovery, "known">;
}

/**
 * Returns warnings about the entries of a new scope that cover nothing. Sends no requests: there
 * are no warnings before the cache is fresh and discovery is loaded.
 */
export function newScopeWarnings({
  accessKeys,
  discovery,
}: ScopeWarningDeps): (
  request: Pick<AdmissionRequest, "object" | "oldObject">,
) => readonly string[] {
  return ({ object, oldObject }) => {
    const { scope } = recordAt(object, "spec");
    if (isSame(scope, recordAt(oldObject, "spec")["scope"])) return [];
    if (!accessKeys.isFresh() || discovery.known("", "namespaces") === undefined) return [];
    return scopeWarnings(parseScopeLimit(scope), {
      isDefined: (role) => accessKeys.roles().has(role),
      scopeOf: (group, resource) => discovery.known(group, resource),
    });
  };
}
