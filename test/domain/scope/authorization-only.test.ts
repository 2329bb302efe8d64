import { expect, test } from "vitest";
import type { ReviewedRequest } from "../../../src/api/access-review.ts";
import type { ResourceScope } from "../../../src/api/discovery.ts";
import {
  authorizationOnlyScope,
  sentRequest,
} from "../../../src/domain/scope/authorization-only.ts";

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
  ["apps", "*", "Namespaced"],
  ["management.service", "sharedsecrets", undefined],
  ["constructor", "users", undefined],
  ["__proto__", "includes", undefined],
])("%j %s: %s", (group, resource, scope) => {
  expect(authorizationOnlyScope(group, resource)).toBe(scope);
});

test.each<[string, Partial<ReviewedRequest>, ResourceScope | undefined, string]>([
  ["a namespaced resource stays where it is", {}, "Namespaced", "web"],
  ["an unknown resource stays where it is", {}, undefined, "web"],
  ["a resource that is not served stays where it is", {}, "Unknown", "web"],
  ["another resource is in no namespace", { resource: "nodes" }, "Cluster", ""],
  ["a namespace is in itself", { resource: "namespaces", name: "pay" }, "Cluster", "pay"],
  ["namespaces are in no namespace", { resource: "namespaces" }, "Cluster", ""],
  [
    "those of another group are, too",
    { group: "a", resource: "namespaces", name: "pay" },
    "Cluster",
    "",
  ],
])("%s", (_what, changes, scope, namespace) => {
  const asked = { kind: "resource", verb: "get", group: "", subresource: "" } as const;
  const request = {
    ...asked,
    resource: "pods",
    name: "",
    namespace: "web",
    ...changes,
  } as ReviewedRequest;
  expect(sentRequest(request, scope)).toEqual({ ...request, namespace });
});

test("a path stays as it is", () => {
  const request: ReviewedRequest = { kind: "path", verb: "get", path: "/logs" };
  expect(sentRequest(request, "Cluster")).toBe(request);
});
