import type { PolicyRule } from "../../../src/api/role.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { allows } from "../../../src/domain/scope/allows.ts";
import type { ScopedRequest } from "../../../src/domain/scope/request.ts";

/** The roles of these tests: `viewer` reads pods and the path `/metrics`. */
export const roles: ReadonlyMap<string, readonly PolicyRule[]> = new Map([
  [
    "viewer",
    [
      { apiGroups: [""], resources: ["pods", "*/log"], resourceNames: [], verbs: ["get", "list"], nonResourceURLs: [] },
      { apiGroups: ["apps"], resources: ["*"], resourceNames: ["web"], verbs: ["*"], nonResourceURLs: [] },
      { apiGroups: [], resources: [], resourceNames: [], verbs: ["get"], nonResourceURLs: ["/metrics", "/logs/*"] },
    ],
  ],
]);

/** Whether a scope as it stands in a spec allows a request. */
export function isAllowed(raw: unknown, request: ScopedRequest): boolean {
  return allows(parseScopeLimit(raw), request, roles).kind === "allowed";
}
