import { expect, test } from "vitest";
import { authorizationOnlyScope } from "../../../src/domain/scope/authorization-only.ts";

test.each<[string, string, ReturnType<typeof authorizationOnlyScope>]>([
  ["", "users", "Cluster"],
  ["", "groups", "Cluster"],
  ["authentication.k8s.io", "userextras", "Cluster"],
  ["authentication.k8s.io", "users", "Cluster"],
  ["authentication.k8s.io", "groups", "Cluster"],
  ["authentication.k8s.io", "uids", "Cluster"],
  ["authentication.k8s.io", "nodes", "Cluster"],
  ["authentication.k8s.io", "serviceaccounts", "Namespaced"],
  ["certificates.k8s.io", "signers", "Cluster"],
  ["management.service", "projects", "Cluster"],
  ["management.service", "clusters", "Cluster"],
  ["", "serviceaccounts", undefined],
  ["", "nodes", undefined],
  ["management.service", "sharedsecrets", undefined],
  ["constructor", "users", undefined],
  ["__proto__", "includes", undefined],
])("%j %s: %s", (group, resource, scope) => {
  expect(authorizationOnlyScope(group, resource)).toBe(scope);
});
