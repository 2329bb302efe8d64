import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { narrows } from "../../../src/domain/scope/narrows.ts";
import { anyRequest, anyScope } from "./arbitraries.ts";
import { anyPair, narrower } from "./narrower.ts";
import { isAllowed } from "./verdict-of.ts";
import { runs } from "../../support/property-runs.ts";

const often = runs(1_000);

function isNarrower(child: unknown, parent: unknown): boolean {
  return narrows(parseScopeLimit(child), parseScopeLimit(parent), "latchkey-system");
}

test("a narrower scope allows nothing that the wider scope denies", () => {
  let narrowed = 0;
  let allowed = 0;
  fc.assert(
    fc.property(
      anyPair,
      fc.array(anyRequest, { minLength: 8, maxLength: 8 }),
      ([child, parent], requests) => {
        if (!isNarrower(child, parent)) return;
        narrowed += 1;
        for (const request of requests) {
          if (!isAllowed(child, request)) continue;
          allowed += 1;
          expect(isAllowed(parent, request)).toBe(true);
        }
      },
    ),
    often,
  );
  // If nothing ever narrowed, the property would prove nothing.
  expect(narrowed).toBeGreaterThan(often.numRuns / 5);
  expect(allowed).toBeGreaterThan(often.numRuns / 10);
});

test("every scope narrows itself, and a single narrowing step is recognized", () => {
  fc.assert(
    fc.property(anyScope, (scope) => {
      expect(isNarrower(scope, scope)).toBe(true);
      expect(narrower(scope, true).filter((less) => !isNarrower(less, scope))).toEqual([]);
    }),
    { numRuns: often.numRuns / 4 },
  );
});

test("an invalid scope only contains invalid ones, and no scope is only within no scope", () => {
  const limits = [
    "none",
    "unreadable",
    parseScopeLimit({}),
    parseScopeLimit({ rules: [{}] }),
  ] as const;
  expect(
    limits.map((parent) => limits.map((child) => narrows(child, parent, "latchkey-system"))),
  ).toEqual([
    [true, true, true, true],
    [false, true, false, false],
    [false, true, true, false],
    [false, true, true, true],
  ]);
});

const pods = [{ group: "", resources: ["pods"] }];
const open = { rules: [{}] };
const web = { projects: [{ project: "web" }] };

describe("narrows:", () => {
  test.each<[string, unknown, unknown]>([
    ["a name within *", web, { projects: [{ project: "*" }] }],
    ["a space of the project", { spaces: [{ project: "web", space: "blue" }] }, web],
    [
      "a space by name within all spaces of a project",
      { spaces: [{ project: "web", space: "blue" }] },
      { spaces: [{ project: "web", space: "*" }] },
    ],
    [
      "a virtual cluster of the project",
      { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
      web,
    ],
    [
      "a virtual cluster by name",
      { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
      { virtualClusters: [{ project: "*", virtualCluster: "*" }] },
    ],
    ["a cluster by name", { clusters: [{ cluster: "c1" }] }, { clusters: [{ cluster: "*" }] }],
    [
      "rules within a rule that restricts nothing",
      { rules: [{ verbs: ["get"] }, { resources: pods, namespaces: ["ns"] }] },
      open,
    ],
    [
      "everything within a rule that restricts nothing and a rule that names Secrets",
      {
        ...web,
        clusters: [{ cluster: "c" }],
        roles: [{ role: "viewer" }],
        rules: [{ verbs: ["get"] }],
      },
      { rules: [{}, { resources: [{ group: "", resources: ["secrets"] }] }] },
    ],
    [
      "Secrets that both name",
      { rules: [{ resources: [{ group: "", resources: ["secrets"] }], namespaces: ["ns"] }] },
      { rules: [{ resources: [{ group: "", resources: ["secrets", "pods"] }] }] },
    ],
    [
      "a guarded namespace that both list",
      { rules: [{ resources: pods, namespaces: ["kube-system"] }] },
      { rules: [{ resources: pods, namespaces: ["kube-system", "latchkey-system"] }] },
    ],
    [
      "a rule that covers nothing in its guarded namespace",
      { rules: [{ namespaces: ["kube-system"] }] },
      open,
    ],
    ["a role in the project", { roles: [{ role: "viewer", projects: ["web"] }] }, web],
    [
      "a role in fewer projects",
      { roles: [{ role: "viewer", projects: ["web"] }] },
      { roles: [{ role: "viewer", projects: ["web", "pay"] }] },
    ],
    [
      "allowServiceCli, which is a role",
      { allowServiceCli: true },
      { roles: [{ role: "serviceCLI" }] },
    ],
    [
      "a resource within all of its group",
      { rules: [{ resources: pods }] },
      { rules: [{ resources: [{ group: "" }] }] },
    ],
    [
      "a resource within *",
      { rules: [{ resources: pods }] },
      { rules: [{ resources: [{ group: "", resources: ["*"] }] }] },
    ],
    [
      "resources of two entries",
      { rules: [{ resources: [{ group: "", resources: ["pods", "services"] }] }] },
      { rules: [{ resources: [...pods, { group: "", resources: ["services"] }] }] },
    ],
    [
      "a subresource within pods/*",
      { rules: [{ resources: [{ group: "", resources: ["pods/log"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["pods/*"] }] }] },
    ],
    [
      "a subresource within */log",
      { rules: [{ resources: [{ group: "", resources: ["pods/log"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["*/log"] }] }] },
    ],
    [
      "reading namespaces within *",
      { rules: [{ verbs: ["get"], resources: [{ group: "", resources: ["namespaces"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["*"] }] }] },
    ],
    [
      "an escape that both name",
      { rules: [{ verbs: ["patch"], resources: [{ group: "", resources: ["namespaces"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["namespaces"] }] }] },
    ],
    [
      "impersonating one of the named users",
      {
        rules: [
          {
            verbs: ["impersonate"],
            resources: [{ group: "", resources: ["users"] }],
            resourceNames: ["ann"],
          },
        ],
      },
      {
        rules: [
          {
            verbs: ["impersonate", "get"],
            resources: [{ group: "", resources: ["users"] }],
            resourceNames: ["ann", "bob"],
          },
        ],
      },
    ],
    [
      "a path below another",
      { rules: [{ nonResourceURLs: ["/logs/a/*", "/logs/b"] }] },
      { rules: [{ nonResourceURLs: ["/logs/*"] }] },
    ],
    [
      "a path within a rule that lists neither paths nor resources",
      { rules: [{ verbs: ["get"], nonResourceURLs: ["/logs"] }] },
      { rules: [{ verbs: ["get"] }] },
    ],
    [
      "a path within *",
      { rules: [{ nonResourceURLs: ["/logs/*"] }] },
      { rules: [{ nonResourceURLs: ["*"] }] },
    ],
    ["one cluster", { rules: [{ cluster: "c1" }] }, { rules: [{}] }],
    [
      "the same cluster",
      { rules: [{ cluster: "c1", verbs: ["get"] }] },
      { rules: [{ cluster: "c1" }] },
    ],
    [
      "a named virtual cluster of a namespace",
      { rules: [{ virtualClusters: [{ name: "vc", namespace: "ns" }] }] },
      { rules: [{ virtualClusters: [{ namespace: "ns" }, { name: "wc" }] }] },
    ],
  ])("%s", (_what, child, parent) => {
    expect(isNarrower(child, parent)).toBe(true);
  });
});

describe("does not narrow:", () => {
  test.each<[string, unknown, unknown]>([
    ["* within a name", { projects: [{ project: "*" }] }, web],
    ["an empty name within *", { projects: [{ project: "" }] }, { projects: [{ project: "*" }] }],
    ["another project", { projects: [{ project: "pay" }] }, web],
    ["an additional project", { projects: [{ project: "web" }, { project: "pay" }] }, web],
    [
      "a space of another project",
      { spaces: [{ project: "pay", space: "blue" }] },
      { ...web, spaces: [{ project: "web", space: "blue" }] },
    ],
    [
      "another space",
      { spaces: [{ project: "web", space: "red" }] },
      { spaces: [{ project: "web", space: "blue" }] },
    ],
    [
      "another virtual cluster",
      { virtualClusters: [{ project: "web", virtualCluster: "wc" }] },
      { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
    ],
    [
      "a virtual cluster of another project",
      { virtualClusters: [{ project: "pay", virtualCluster: "vc" }] },
      { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
    ],
    ["another cluster", { clusters: [{ cluster: "c2" }] }, { clusters: [{ cluster: "c1" }] }],
    ["another role", { roles: [{ role: "editor" }] }, { roles: [{ role: "viewer" }] }],
    [
      "a role in an additional project",
      { roles: [{ role: "viewer", projects: ["web", "pay"] }] },
      { roles: [{ role: "viewer", projects: ["web"] }] },
    ],
    [
      "a role in a project and another one",
      { roles: [{ role: "viewer", projects: ["web", "pay"] }] },
      web,
    ],
    [
      "a role in all projects",
      { roles: [{ role: "viewer" }] },
      { ...web, roles: [{ role: "viewer", projects: ["web"] }] },
    ],
    [
      "a role in all virtual clusters",
      { roles: [{ role: "viewer" }] },
      { roles: [{ role: "viewer", virtualClusters: ["vc"] }] },
    ],
    ["a project, whose Secrets are covered, within a rule that does not name them", web, open],
    ["a role within a rule that does not name Secrets", { roles: [{ role: "viewer" }] }, open],
    [
      "a project within a rule that names Secrets and is restricted",
      web,
      { rules: [{}, { resources: [{ group: "", resources: ["secrets"] }], verbs: ["get"] }] },
    ],
    [
      "a project within a rule that only names Secrets",
      web,
      { rules: [{ resources: [{ group: "", resources: ["secrets"] }] }] },
    ],
    [
      "Secrets by name within *",
      { rules: [{ resources: [{ group: "", resources: ["secrets"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["*"] }] }] },
    ],
    [
      "a guarded namespace that the wider rule does not list",
      { rules: [{ resources: pods, namespaces: ["ns", "kube-system"] }] },
      { rules: [{ resources: pods }] },
    ],
    [
      "Latchkey's own namespace that the wider rule does not list",
      { rules: [{ resources: pods, namespaces: ["latchkey-system"] }] },
      { rules: [{ resources: pods }] },
    ],
    [
      "a resource in a guarded namespace that the wider rule does not name",
      { rules: [{ resources: pods, namespaces: ["kube-system"] }] },
      { rules: [{ resources: [{ group: "", resources: ["*"] }], namespaces: ["kube-system"] }] },
    ],
    [
      "a CRD within *",
      {
        rules: [
          {
            verbs: ["patch"],
            resources: [
              { group: "apiextensions.k8s.io", resources: ["customresourcedefinitions"] },
            ],
          },
        ],
      },
      open,
    ],
    ["a location within a rule that restricts", web, { rules: [{ verbs: ["get"] }] }],
    ["a rule within a project", { rules: [{ namespaces: ["web"] }] }, web],
    ["all verbs within some", { rules: [{}] }, { rules: [{ verbs: ["get"] }] }],
    ["another verb", { rules: [{ verbs: ["get", "list"] }] }, { rules: [{ verbs: ["get"] }] }],
    ["all targets within one", { rules: [{}] }, { rules: [{ requestTargets: ["Cluster"] }] }],
    ["every cluster within one", { rules: [{}] }, { rules: [{ cluster: "c1" }] }],
    [
      "every virtual cluster within one",
      { rules: [{}] },
      { rules: [{ virtualClusters: [{ name: "vc" }] }] },
    ],
    [
      "an additional virtual cluster of a rule",
      { rules: [{ virtualClusters: [{ name: "vc" }, { name: "wc" }] }] },
      { rules: [{ virtualClusters: [{ name: "vc" }] }] },
    ],
    [
      "another virtual cluster of a rule",
      { rules: [{ virtualClusters: [{ name: "wc", namespace: "ns" }] }] },
      { rules: [{ virtualClusters: [{ name: "vc", namespace: "ns" }] }] },
    ],
    [
      "another namespace of a virtual cluster",
      { rules: [{ virtualClusters: [{ name: "vc", namespace: "other" }] }] },
      { rules: [{ virtualClusters: [{ name: "vc", namespace: "ns" }] }] },
    ],
    [
      "all resources within some",
      { rules: [{ namespaces: ["ns"] }] },
      { rules: [{ namespaces: ["ns"], resources: pods }] },
    ],
    [
      "all resources of the group within one",
      { rules: [{ resources: [{ group: "" }] }] },
      { rules: [{ resources: pods }] },
    ],
    [
      "* within pods/*",
      { rules: [{ resources: [{ group: "", resources: ["*"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["pods/*", "pods"] }] }] },
    ],
    [
      "pods within pods/*",
      { rules: [{ resources: pods }] },
      { rules: [{ resources: [{ group: "", resources: ["pods/*"] }] }] },
    ],
    [
      "another subresource within */log",
      { rules: [{ resources: [{ group: "", resources: ["pods/exec"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["*/log"] }] }] },
    ],
    [
      "an additional group",
      { rules: [{ resources: [...pods, { group: "apps" }] }] },
      { rules: [{ resources: pods }] },
    ],
    [
      "an additional resource",
      { rules: [{ resources: [{ group: "", resources: ["pods", "secrets"] }] }] },
      { rules: [{ resources: pods }] },
    ],
    [
      "a subresource within its resource",
      { rules: [{ resources: [{ group: "", resources: ["pods/log"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["pods", "log/*"] }] }] },
    ],
    [
      "another group",
      { rules: [{ resources: [{ group: "apps", resources: ["pods"] }] }] },
      { rules: [{ resources: pods }] },
    ],
    [
      "all names within some",
      { rules: [{ resources: pods }] },
      { rules: [{ resources: pods, resourceNames: ["a"] }] },
    ],
    [
      "names within a rule with names and without resources",
      { rules: [{ resources: pods, resourceNames: ["a"] }] },
      { rules: [{ resourceNames: ["a"] }] },
    ],
    [
      "all namespaces within some",
      { rules: [{ resources: pods }] },
      { rules: [{ resources: pods, namespaces: ["ns"] }] },
    ],
    [
      "an escape that * covers and does not name",
      { rules: [{ verbs: ["patch"], resources: [{ group: "", resources: ["namespaces"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["*"] }] }] },
    ],
    [
      "an escape by one of several verbs",
      {
        rules: [{ verbs: ["get", "patch"], resources: [{ group: "", resources: ["namespaces"] }] }],
      },
      open,
    ],
    [
      "an escape by all verbs",
      { rules: [{ resources: [{ group: "", resources: ["namespaces"] }] }] },
      open,
    ],
    [
      "reading keys",
      {
        rules: [
          {
            verbs: ["get"],
            resources: [{ group: "management.service", resources: ["ownedaccesskeys"] }],
          },
        ],
      },
      open,
    ],
    [
      "RBAC roles, which are an escape as a group",
      {
        rules: [
          {
            verbs: ["create"],
            resources: [{ group: "rbac.authorization.k8s.io", resources: ["roles"] }],
          },
        ],
      },
      open,
    ],
    [
      "impersonation if the verb is not named",
      { rules: [{ verbs: ["impersonate"], resources: [{ group: "", resources: ["users"] }] }] },
      { rules: [{ resources: [{ group: "", resources: ["users"] }] }] },
    ],
    [
      "impersonation if the users are not named",
      { rules: [{ verbs: ["impersonate"], resources: [{ group: "", resources: ["users"] }] }] },
      { rules: [{ verbs: ["impersonate"] }] },
    ],
    [
      "paths within a rule with only resources",
      { rules: [{ nonResourceURLs: ["/logs"] }] },
      { rules: [{ resources: pods }] },
    ],
    [
      "resources within a rule with only paths",
      { rules: [{ resources: pods }] },
      { rules: [{ nonResourceURLs: ["*"] }] },
    ],
    [
      "paths and resources within a rule with only resources",
      { rules: [{}] },
      { rules: [{ resources: [{ group: "" }] }] },
    ],
    [
      "another path",
      { rules: [{ nonResourceURLs: ["/logsomething"] }] },
      { rules: [{ nonResourceURLs: ["/logs/*"] }] },
    ],
    [
      "all paths within some",
      { rules: [{ nonResourceURLs: ["*"] }] },
      { rules: [{ nonResourceURLs: ["/*"] }] },
    ],
  ])("%s", (_what, child, parent) => {
    expect(isNarrower(child, parent)).toBe(false);
  });
});
