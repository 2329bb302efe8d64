import { expect, test } from "vitest";
import type { PolicyRule, Subject } from "../../../src/api/role.ts";
import { explainBinding } from "../../../src/domain/requester/requester-bindings.ts";
import { observedMetadata } from "../../support/observed-objects.ts";

const requester: PolicyRule = {
  apiGroups: ["management.service"],
  resources: ["ownedaccesskeys", "directclusterendpointtokens"],
  resourceNames: [],
  verbs: ["create"],
  nonResourceURLs: [],
};
const all = { ...requester, apiGroups: ["*"], resources: ["*"], verbs: ["*"] };
const user = (name: string): Subject => ({ kind: "User", name });

function messageOf(subject: Subject, rule: PolicyRule, name = "alice"): string | undefined {
  const binding = {
    metadata: observedMetadata({ name: "requesters" }),
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "makers" },
    subjects: [user("bob"), subject],
  };
  return explainBinding(binding, [rule], { name, groups: ["devs"] })?.message;
}

test.each<[string, Subject, PolicyRule, string]>([
  ["a user", user("alice"), requester, 'lets User "alice" create ownedaccesskeys, create direct'],
  ["a group of the user", { kind: "Group", name: "devs" }, requester, 'Group "devs" create'],
  ["an administrator", user("alice"), all, "create ownedaccesskeys, update ownedaccesskeys, "],
  [
    "who may enable keys",
    user("alice"),
    { ...requester, resources: ["ownedaccesskeys"], verbs: ["update"] },
    '"alice" update ownedaccesskeys by ClusterRole "makers"',
  ],
])("a binding of %s lets make more", (_whom, subject, rule, sentence) => {
  expect(messageOf(subject, rule)).toContain(sentence);
});

test.each<[string, Subject, PolicyRule]>([
  ["another group", { kind: "Group", name: "ops" }, requester],
  ["a group of the user's name", { kind: "Group", name: "alice" }, requester],
  ["reading", user("alice"), { ...requester, verbs: ["get", "delete", "patch"] }],
  ["objects by name", user("alice"), { ...requester, resourceNames: ["ci"], verbs: ["*"] }],
  ["other kinds", user("alice"), { ...requester, resources: ["sharedsecrets"] }],
  ["another API group", user("alice"), { ...requester, apiGroups: ["apps"] }],
])("a binding of %s does not", (_what, subject, rule) => {
  expect(messageOf(subject, rule)).toBeUndefined();
});

test("a service account is a user by its name", () => {
  const subject = { kind: "ServiceAccount", name: "ci", namespace: "web" };
  expect(messageOf(subject, requester, "system:serviceaccount:web:ci")).toContain('"ci" create');
  expect(messageOf(subject, requester, "system:serviceaccount:ops:ci")).toBeUndefined();
});
