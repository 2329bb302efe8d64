import { expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import { canExist, collectionPath, objectPath, withQuery } from "../../../src/kube/client/paths.ts";

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
    "of a name with characters of a query",
    objectPath(resources.secrets, { namespace: "a#b", name: "..c?d e\n" }),
    "/api/v1/namespaces/a%23b/secrets/..c%3Fd%20e%0A",
  ],
])("the path %s", ([, path, expected]) => {
  expect(path).toBe(expected);
});

const impossible = ["", ".", "..", "/", "a/b", "../c", "%2F", "a%", "\ud800"];

test.each(impossible)(
  "the name %j has no path, because it would be that of something else",
  (name) => {
    const refused = expect.objectContaining({ code: "Invalid", status: 0 });
    for (const path of [
      () => objectPath(resources.ownedAccessKeys, { name }),
      () => objectPath(resources.secrets, { namespace: "a", name }),
      () => objectPath(resources.secrets, { namespace: name, name: "a" }, "status"),
      () => collectionPath(resources.secrets, name),
    ])
      expect(path).toThrow(refused);
    expect(canExist({ name })).toBe(false);
    expect(canExist({ namespace: name, name: "a" })).toBe(false);
  },
);

test("a refusal quotes the name and says what a name is", () => {
  expect(() => objectPath(resources.ownedAccessKeys, { name: "/" })).toThrow(
    '"/" is not a valid OwnedAccessKey name: a name must not be empty, . or .., and must not contain / or %',
  );
});

test("an object of a namespaced kind has no path without a namespace", () => {
  expect(() => objectPath(resources.secrets, { name: "a" })).toThrow('Secret "a" has no namespace');
});

test("withQuery encodes parameters and omits those without a value", () => {
  expect(withQuery("/a", { limit: "5", continue: undefined, labelSelector: "!a/b=c" })).toBe(
    "/a?limit=5&labelSelector=%21a%2Fb%3Dc",
  );
  expect(withQuery("/a", { continue: undefined })).toBe("/a");
});
