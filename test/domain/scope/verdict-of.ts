import type { PolicyRule } from "../../../src/api/role.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { allows } from "../../../src/domain/scope/allows.ts";
import type { ScopeContext } from "../../../src/domain/scope/scope-roles.ts";
import type { ScopedRequest } from "../../../src/domain/scope/scoped-request.ts";

const nothing = { apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

/**
 * The roles of these tests: `viewer` reads pods, lists Secrets and reads the path `/metrics`;
 * `everything` has only wildcards.
 */
export const roles: ReadonlyMap<string, readonly PolicyRule[]> = new Map([
  [
    "viewer",
    [
      { ...nothing, apiGroups: [""], resources: ["pods", "*/log"], verbs: ["get", "list"] },
      { ...nothing, apiGroups: [""], resources: ["secrets"], verbs: ["list"] },
      { ...nothing, apiGroups: ["apps"], resources: ["*"], resourceNames: ["web"], verbs: ["*"] },
      { ...nothing, nonResourceURLs: ["/metrics", "/logs/*"], verbs: ["get"] },
    ],
  ],
  [
    "everything",
    [{ ...nothing, apiGroups: ["*"], resources: ["*"], nonResourceURLs: ["*"], verbs: ["*"] }],
  ],
]);

/** The context of scopes in these tests. */
export const context: ScopeContext = { roles, ownNamespace: "latchkey-system" };

/** Whether a scope, as written in a spec, allows a request. */
export function isAllowed(raw: unknown, request: ScopedRequest): boolean {
  return allows(parseScopeLimit(raw), request, context).kind === "allowed";
}
