import { describe, expect, test } from "vitest";
import { isEscape, isGuardedNamespace } from "../../../src/domain/scope/derived-credentials.ts";
import { isAllowed } from "./verdict-of.ts";
import { resourceRequest } from "./requests.ts";

const own = "management.service";
const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const reading = ["get", "list", "watch"];

/** The table of docs/scope.md: resources, and the verbs that are harmless. */
const escapes: readonly (readonly [
  group: string,
  resource: string,
  harmless: readonly string[],
])[] = [
  [own, "ownedaccesskeys", ["create"]],
  [own, "ownedaccesskeys/status", ["create"]],
  [own, "directclusterendpointtokens", ["create"]],
  [own, "directclusterendpointtokens/status", ["create"]],
  ["", "serviceaccounts/token", []],
  ["", "nodes/proxy", []],
  ["", "namespaces", reading],
  ["", "namespaces/status", reading],
  ["", "namespaces/finalize", reading],
  ["certificates.k8s.io", "signers", []],
  ["certificates.k8s.io", "certificatesigningrequests/approval", reading],
  ["rbac.authorization.k8s.io", "clusterroles", reading],
  ["admissionregistration.k8s.io", "mutatingwebhookconfigurations", reading],
  ["apiregistration.k8s.io", "apiservices", reading],
  ["apiextensions.k8s.io", "customresourcedefinitions", reading],
  ["", "secrets/any", []],
];

const requestFor = (group: string, qualified: string, verb: string) => {
  const [resource = "", subresource = ""] = qualified.split("/");
  return resourceRequest({ group, resource, subresource, verb });
};

describe.each(escapes)("%s %s", (group, resource, harmless) => {
  test.each(verbs)(`%s is an escape unless it is one of ${JSON.stringify(harmless)}`, (verb) => {
    const request = requestFor(group, resource, verb);
    expect(isEscape(request)).toBe(!harmless.includes(verb));
    expect(isAllowed({ rules: [{}] }, request)).toBe(harmless.includes(verb));
    expect(
      isAllowed({ rules: [{ resources: [{ group, resources: ["*", resource] }] }] }, request),
    ).toBe(true);
  });
});

test.each([
  ["Management", []],
  ["ProjectSpace", []],
  ["Cluster", ["ownedaccesskeys", "directclusterendpointtokens"]],
  ["ProjectVirtualCluster", ["ownedaccesskeys", "directclusterendpointtokens"]],
] as const)("at the target %s, the creation of %j is an escape", (target, expected) => {
  const kinds = ["ownedaccesskeys", "directclusterendpointtokens", "sharedsecrets"];
  const isEscapeOf = (resource: string) =>
    isEscape(resourceRequest({ group: own, resource, verb: "create", target }));
  expect(kinds.filter(isEscapeOf)).toEqual(expected);
});

test("guarded namespaces are Latchkey's own and those of connected clusters and of the control plane", () => {
  const names = ["keys", "latchkey-clusters", "kube-system", "latchkey-system", "default", ""];
  expect(names.filter((name) => isGuardedNamespace(name, "keys"))).toEqual([
    "keys",
    "latchkey-clusters",
    "kube-system",
  ]);
  expect(isGuardedNamespace("", "")).toBe(false);
});

describe("is no escape:", () => {
  test.each([
    ["", "secrets"],
    ["", "serviceaccounts"],
    ["", "nodes"],
    ["", "nodes/proxy2"],
    ["", "namespaces2"],
    ["apps", "namespaces"],
    [own, "sharedsecrets"],
  ])("%s %s with any verb", (group, resource) => {
    expect(verbs.filter((verb) => isEscape(requestFor(group, resource, verb)))).toEqual([]);
  });
});
