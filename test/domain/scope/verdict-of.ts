import type { PolicyRule } from "../../../src/api/role.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { allows, type ScopeContext } from "../../../src/domain/scope/allows.ts";
import type { ScopedRequest } from "../../../src/domain/scope/request.ts";

/**
 * The roles of these tests: `viewer` reads pods, lists Secrets and reads the path `/metrics`;
 * `everything` has only wildcards.
 */
export const roles: ReadonlyMap<string, readonly PolicyRule[]> = new Map([
  [
    "viewer",
    [
      {
        apiGroups: [""],
        resources: ["pods", "*/log"],
        resourceNames: [],
        verbs: ["get", "list"],
        nonResourceURLs: [],
      },
      {
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: [],
        verbs: ["list"],
        nonResourceURLs: [],
      },
      {
        apiGroups: ["apps"],
        resources: ["*"],
        resourceNames: ["web"],
        verbs: ["*"],
        nonResourceURLs: [],
      },
      {
        apiGroups: [],
        resources: [],
        resourceNames: [],
        verbs: ["get"],
        nonResourceURLs: ["/metrics", "/logs/*"],
      },
    ],
  ],
  [
    "everything",
    [
      {
        apiGroups: ["*"],
        resources: ["*"],
        resourceNames: [],
        verbs: ["*"],
        nonResourceURLs: ["*"],
      },
    ],
  ],
]);

/** The context of scopes in these tests. */
export const context: ScopeContext = { roles, ownNamespace: "latchkey-system" };

/** Whether a scope, as written in a spec, allows a request. */
export function isAllowed(raw: unknown, request: ScopedRequest): boolean {
  return allows(parseScopeLimit(raw), request, context).kind === "allowed";
}
