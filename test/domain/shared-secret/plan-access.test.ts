import { expect, test } from "vitest";
import type { ObservedRole, ObservedRoleBinding } from "../../../src/api/role.ts";
import type { AccessRule } from "../../../src/api/shared-secret.ts";
import { accessOf } from "../../../src/domain/shared-secret/access-rules.ts";
import { derivedRoles, isAsWritten } from "../../../src/domain/shared-secret/derived-role.ts";
import { planAccess } from "../../../src/domain/shared-secret/plan-access.ts";
import { observedSource } from "../../support/observed-copies.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const prefixes = { user: "", team: "" };
const rule = (verbs: readonly string[], ...users: readonly string[]): AccessRule => ({
  verbs,
  users,
  teams: [],
  subresources: [],
});
const secretWith = (...access: readonly AccessRule[]) =>
  observedSource({ secret: { access } }).secret;

/** The Roles and RoleBindings of a SharedSecret with these rules, as the controller wrote them. */
function observedAccess(...access: readonly AccessRule[]) {
  const secret = secretWith(...access);
  const wanted = derivedRoles(secret.metadata, accessOf(secret, prefixes).grants);
  const metadata = (name: string) =>
    observedMetadata({ namespace: "team", name, finalizers: [], uid: `uid-${name}` });
  const roles: ObservedRole[] = wanted.map(({ name, permission }) => ({
    metadata: metadata(name),
    ownerReferences: [],
    rules: [
      {
        apiGroups: ["management.service"],
        resources: ["sharedsecrets"],
        resourceNames: ["db"],
        verbs: permission.verbs,
        nonResourceURLs: [],
      },
    ],
  }));
  const bindings: ObservedRoleBinding[] = wanted.map(({ name, subjects }) => ({
    metadata: metadata(name),
    ownerReferences: [],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects,
  }));
  expect(roles.every((role) => isAsWritten(secret.metadata, role))).toBe(true);
  return { roles, bindings, orphanedRoles: [], orphanedBindings: [], unmanaged: new Set<string>() };
}

const names = (changes: ReturnType<typeof planAccess>) =>
  changes
    .filter(({ kind }) => kind === "RoleBinding")
    .map(({ action, added, removed }) => ({
      action,
      added: added.map(({ name }) => name),
      removed: removed.map(({ name }) => name),
    }));

test("a changed rule names the subjects that gain and lose access", () => {
  const changes = planAccess(
    observedAccess(rule(["get"], "alice", "bob")),
    secretWith(rule(["get"], "bob", "carol")),
    prefixes,
  );
  expect(names(changes)).toEqual([{ action: "replace", added: ["carol"], removed: ["alice"] }]);
});

test("another permission is another Role and RoleBinding", () => {
  const changes = planAccess(
    observedAccess(rule(["get"], "alice")),
    secretWith(rule(["get", "list"], "alice")),
    prefixes,
  );
  expect(changes.map(({ kind, action }) => `${action} ${kind}`).toSorted()).toEqual([
    "create Role",
    "create RoleBinding",
    "delete Role",
    "delete RoleBinding",
  ]);
});

test("a new SharedSecret gets a Role and a RoleBinding, and a deletion removes them", () => {
  const before = { ...observedAccess(), roles: [], bindings: [] };
  expect(names(planAccess(before, secretWith(rule(["get"], "alice")), prefixes))).toEqual([
    { action: "create", added: ["alice"], removed: [] },
  ]);
  expect(names(planAccess(observedAccess(rule(["get"], "alice")), undefined, prefixes))).toEqual([
    { action: "delete", added: [], removed: ["alice"] },
  ]);
});
