import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  locationOf,
  managementLocation,
  type RequestLocation,
} from "../../../src/domain/scope/scoped-request.ts";
import { runs } from "../../support/property-runs.ts";
import { anyRequest, anyScope } from "./arbitraries.ts";
import { requestOf, scopeOf } from "./scope-text.ts";
import { isAllowed } from "./verdict-of.ts";

const inProject = "target=Cluster cluster=east project=web space=blue virtualCluster=vc";

/** Scopes that are limited to a project, and what they cover there. */
const limited = [
  "project web",
  "space web/blue",
  "virtualCluster web/vc",
  "role everything",
  "role everything projects=web",
  "role everything virtualClusters=vc",
  "project web + role everything + role viewer + role serviceCLI",
];

describe.each(limited)("in a connected cluster, %s", (scope) => {
  test.each([
    "list pods in ns",
    "create pods in ns",
    "create deployments.apps/scale web in ns",
    "create sharedsecrets.management.service in ns",
    "get namespaces ns in ns",
    "get roles.rbac.authorization.k8s.io r in ns",
  ])("covers %s of a namespace of the project", (request) => {
    expect(isAllowed(scopeOf(scope), requestOf(`${request} ${inProject}`))).toBe(true);
  });

  test.each([
    // The labels of a namespace decide what is in the scope.
    "create namespaces web-2",
    "patch namespaces ns in ns",
    "update namespaces/status ns in ns",
    "update namespaces/finalize ns in ns",
    "delete namespaces ns in ns",
    // Credentials of other accounts, and keys of a Latchkey there.
    "create serviceaccounts/token sa in ns",
    "get secrets/any s in ns",
    "list ownedaccesskeys.management.service in ns",
    "create ownedaccesskeys.management.service in ns",
    "create directclusterendpointtokens.management.service in ns",
    // Rights.
    "create rolebindings.rbac.authorization.k8s.io in ns",
    "bind roles.rbac.authorization.k8s.io r in ns",
    "impersonate serviceaccounts sa in ns",
    "create certificatesigningrequests.certificates.k8s.io in ns",
    "create validatingwebhookconfigurations.admissionregistration.k8s.io in ns",
    "create customresourcedefinitions.apiextensions.k8s.io in ns",
    // Namespaces with the credentials of the cluster, though they have labels of a project.
    "get pods p in kube-system",
    "get secrets s in latchkey-clusters",
    "get configmaps c in latchkey-system",
    "get secrets latchkey-central in latchkey-system",
    "create pods/exec p in latchkey-system",
    "create serviceaccounts/token latchkey-cluster-agent in latchkey-system",
    "get secrets s in latchkey-cluster-west",
  ])("covers no %s, though the namespace is of the project", (request) => {
    expect(isAllowed(scopeOf(scope), requestOf(`${request} ${inProject}`))).toBe(false);
  });

  test.each([
    "list pods",
    "watch sharedsecrets.management.service",
    "list secrets",
    "list namespaces",
    "get nodes n",
    "get persistentvolumes v",
    "get pods p in other",
    "get /metrics",
    "get /logs/a",
  ])("covers no %s, because nothing says its project", (request) => {
    const asked = requestOf(`${request} target=Cluster cluster=east`);
    expect(isAllowed(scopeOf(scope), asked)).toBe(false);
  });
});

test.each(["role everything", "role everything projects=web"])(
  "%s covers no Secrets in a project, which a role has to name",
  (scope) => {
    const asked = requestOf(`get secrets s in ns ${inProject}`);
    expect(isAllowed(scopeOf(scope), asked)).toBe(false);
    expect(isAllowed(scopeOf("role viewer"), requestOf(`list secrets in ns ${inProject}`))).toBe(
      true,
    );
  },
);

test("the labels of a tenant in a virtual cluster are in no other project or space", () => {
  const base = { target: "ProjectVirtualCluster", project: "web", virtualCluster: "vc" } as const;
  const labels = {
    "management.service/project": "pay",
    "management.service/space": "blue",
    "management.service/virtual-cluster": "wc",
  };
  const asked = { ...requestOf("get pods p in ns"), ...locationOf(base, labels) };
  const covering = ["project web", "virtualCluster web/vc", "role viewer projects=web"];
  const others = ["project pay", "space web/blue", "space pay/blue", "virtualCluster pay/wc"];
  expect(covering.filter((scope) => !isAllowed(scopeOf(scope), asked))).toEqual([]);
  expect(others.filter((scope) => isAllowed(scopeOf(scope), asked))).toEqual([]);
});

const name = fc.constantFrom("web", "pay", "vc", "blue", "");
const label = fc.option(name, { nil: undefined });
const anyLabels = fc
  .record({ project: label, space: label, "virtual-cluster": label })
  .map((named) =>
    Object.fromEntries(
      Object.entries(named).flatMap(([key, value]) =>
        value === undefined ? [] : [[`management.service/${key}`, value]],
      ),
    ),
  );
const anyBase = fc.constantFrom<RequestLocation>(
  managementLocation,
  { target: "Cluster", cluster: "c1" },
  { target: "ProjectVirtualCluster", project: "web", virtualCluster: "vc" },
  { target: "ProjectSpace", project: "web", space: "blue" },
);

test("labels never change what a path says", () => {
  fc.assert(
    fc.property(anyBase, anyLabels, (base, labels) => {
      const found = locationOf(base, labels);
      expect(found).toMatchObject(base);
      expect(found).toEqual(base.project === undefined ? found : base);
    }),
    runs(300),
  );
});

test("labels decide nothing about a scope without projects and roles", () => {
  fc.assert(
    fc.property(anyScope, anyRequest, anyLabels, ({ clusters, rules }, request, labels) => {
      const scope = {
        ...(clusters === undefined ? {} : { clusters }),
        ...(rules === undefined ? {} : { rules }),
      };
      const base: RequestLocation = { target: "Cluster", cluster: "c1" };
      const nowhere = { project: "", space: "", virtualCluster: "" };
      const plain = { ...request, ...nowhere, ...base };
      expect(isAllowed(scope, { ...plain, ...locationOf(base, labels) })).toBe(
        isAllowed(scope, plain),
      );
    }),
    runs(1_000),
  );
});
