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

test("guarded namespaces are Latchkey's own, those of connected clusters and that of the control plane", () => {
  const names = [
    ...["keys", "latchkey-clusters", "kube-system", "latchkey-system", "default", ""],
    ...["latchkey-cluster-east", "latchkey-cluster-", "latchkey-cluster", "my-latchkey-cluster-x"],
  ];
  expect(names.filter((name) => isGuardedNamespace(name, "keys"))).toEqual([
    "keys",
    "latchkey-clusters",
    "kube-system",
    "latchkey-cluster-east",
    "latchkey-cluster-",
  ]);
  expect(isGuardedNamespace("", "")).toBe(false);
});

test.each([
  ["Secrets", "secrets"],
  ["pods", "pods"],
])(
  "in a cluster where Latchkey runs elsewhere, a rule names its namespace for %s",
  (_w, resource) => {
    const request = (namespace: string, latchkeyNamespaces: ReadonlySet<string> | "unknown") => ({
      ...resourceRequest({ group: "", resource, verb: "get", namespace, target: "Cluster" }),
      latchkeyNamespaces,
    });
    const rule = { resources: [{ group: "", resources: [resource] }] };
    const isCovered = (scope: object, ...asked: Parameters<typeof request>) =>
      isAllowed(scope, request(...asked));
    const edge = new Set(["lk-edge"]);
    expect(isCovered({ rules: [rule] }, "lk-edge", edge)).toBe(false);
    expect(isCovered({ rules: [{ ...rule, namespaces: ["lk-edge"] }] }, "lk-edge", edge)).toBe(
      true,
    );
    expect(isCovered({ rules: [rule] }, "web", edge)).toBe(true);
    expect(isCovered({ rules: [rule] }, "web", "unknown")).toBe(false);
    expect(isCovered({ rules: [{ ...rule, namespaces: ["web"] }] }, "web", "unknown")).toBe(true);
    // The central cluster's own namespace and the fixed names stay guarded.
    expect(
      ["latchkey-system", "latchkey-clusters"].filter((name) =>
        isCovered({ rules: [rule] }, name, edge),
      ),
    ).toEqual([]);
  },
);

describe("the key of the agent of a connected cluster", () => {
  const outbox = "latchkey-cluster-east";
  const rule = (verbs: readonly string[], group: string, resource: string, ...names: string[]) => ({
    verbs,
    resources: [{ group, resources: [resource] }],
    ...(names.length === 0 ? {} : { resourceNames: names }),
    namespaces: [outbox],
    requestTargets: ["Management"],
  });
  const scope = {
    rules: [
      rule(reading, "", "secrets"),
      rule(["get", "update"], "", "configmaps", "report-0", "report-15"),
      rule(["get", "update"], "coordination.k8s.io", "leases", "latchkey-cluster-agent"),
    ],
  };
  const request = (text: string) => {
    const [verb = "", resource = "", name = "", namespace = outbox] = text.split(" ");
    const group = resource === "leases" ? "coordination.k8s.io" : "";
    return resourceRequest({ group, resource, verb, name, namespace });
  };

  test.each([
    "list secrets",
    "watch secrets",
    "get secrets s",
    "get configmaps report-0",
    "update configmaps report-15",
    "update leases latchkey-cluster-agent",
  ])("covers its own outbox: %s", (text) => {
    expect(isAllowed(scope, request(text))).toBe(true);
  });

  test.each([
    "update secrets s",
    "delete secrets s",
    "update configmaps other",
    "create configmaps report-0",
    "list secrets  latchkey-cluster-west",
    "get secrets s latchkey-clusters",
    "get secrets s web",
  ])("covers nothing else: %s", (text) => {
    expect(isAllowed(scope, request(text))).toBe(false);
  });

  test.each<[string, object]>([
    [
      "reads the Secrets of all namespaces",
      { rules: [rule(reading, "", "secrets")].map((all) => ({ ...all, namespaces: [] })) },
    ],
    ["reads everything", { rules: [{ verbs: reading }] }],
    ["reads everything of the outbox", { rules: [{ verbs: reading, namespaces: [outbox] }] }],
    ["covers all projects", { projects: [{ project: "*" }] }],
  ])("is the only one: no outbox is read by a scope that %s", (_what, wide) => {
    const location = { target: "Management", project: "web" } as const;
    expect(isAllowed(wide, { ...request("get secrets s"), ...location })).toBe(false);
    expect(isAllowed(wide, { ...request("list secrets"), ...location })).toBe(false);
  });
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
