import { expect, test } from "vitest";
import { connectedPolicies } from "../../../src/domain/gateway/connected-policy.ts";
import {
  accountNamespaces,
  namespacesInPolicy,
} from "../../../src/domain/policies/latchkey-namespaces.ts";
import { shippedPolicy } from "../../support/connected-policies.ts";

test.each([
  ["system:serviceaccount:lk-edge:latchkey-gateway", ["lk-edge"]],
  ["system:serviceaccount:lk-edge:other", []],
  ["system:serviceaccounts:lk-edge", []],
  ["lk-edge:latchkey-gateway", []],
  ["['system:serviceaccount:a:latchkey-x', 'system:serviceaccount:b:latchkey-y']", ["a", "b"]],
  ["system:serviceaccount:", []],
  ["", []],
])("the namespaces of Latchkey's accounts in %j are %j", (text, namespaces) => {
  expect(accountNamespaces(text)).toEqual(namespaces);
});

test("the shipped policy about Latchkey's accounts names their namespace", () => {
  const { policy } = shippedPolicy(connectedPolicies.ownSecrets.name, "2026-01-01T00:00:00Z");
  expect(new Set(namespacesInPolicy(policy))).toEqual(new Set(["latchkey-system"]));
});

test.each([
  undefined,
  "text",
  { spec: { matchConditions: [1, { expression: 1 }], variables: {} } },
])("what is no policy names no namespace: %j", (policy) => {
  expect(namespacesInPolicy(policy)).toEqual([]);
});
