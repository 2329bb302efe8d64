import { expect, test } from "vitest";
import { resources } from "../../src/api/resources.ts";
import { collectionPath, objectPath, withQuery } from "../../src/kube/paths.ts";

test.for([
  [
    "of the core group, in a namespace",
    collectionPath(resources.secrets, "ns"),
    "/api/v1/namespaces/ns/secrets",
  ],
  ["of the core group, in all namespaces", collectionPath(resources.secrets), "/api/v1/secrets"],
  [
    "of another group",
    collectionPath(resources.roles, "ns"),
    "/apis/rbac.authorization.k8s.io/v1/namespaces/ns/roles",
  ],
  [
    "of a cluster-scoped resource, even with a namespace",
    collectionPath(resources.ownedAccessKeys, "ns"),
    "/apis/management.service/v1/ownedaccesskeys",
  ],
  [
    "of an object, with its case",
    objectPath(resources.clusterRoles, { name: "Team:Admin" }),
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/Team%3AAdmin",
  ],
  [
    "of a subresource",
    objectPath(resources.sharedSecrets, { namespace: "ns", name: "a" }, "status"),
    "/apis/management.service/v1/namespaces/ns/sharedsecrets/a/status",
  ],
  [
    "of a name with characters of a path",
    objectPath(resources.secrets, { namespace: "a/b", name: "../c?d" }),
    "/api/v1/namespaces/a%2Fb/secrets/..%2Fc%3Fd",
  ],
])("the path %s", ([, path, expected]) => {
  expect(path).toBe(expected);
});

test("withQuery encodes parameters and omits those without a value", () => {
  expect(withQuery("/a", { limit: "5", continue: undefined, labelSelector: "!a/b=c" })).toBe(
    "/a?limit=5&labelSelector=%21a%2Fb%3Dc",
  );
  expect(withQuery("/a", { continue: undefined })).toBe("/a");
});
