import { describe, expect, test } from "vitest";
import type { ScopedRequest } from "../../../src/domain/scope/request.ts";
import { allows } from "../../../src/domain/scope/allows.ts";
import { pathRequest, resourceRequest } from "./requests.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { context, isAllowed } from "./verdict-of.ts";

const pod = resourceRequest();
const inProject = (project: string) => resourceRequest({ project });
const rule = (fields: object) => ({ rules: [fields] });
const core = (...resources: readonly string[]) => rule({ resources: [{ group: "", resources }] });
const named = (group: string, ...resources: readonly string[]) =>
  rule({ resources: [{ group, resources }] });

const secret = (changes: Parameters<typeof resourceRequest>[0] = {}) =>
  resourceRequest({ resource: "secrets", ...changes });

type Case = readonly [string, unknown, ScopedRequest];

describe.each<[string, readonly Case[], readonly Case[]]>([
  [
    "a scope",
    [["that is absent does not narrow", undefined, pod]],
    [
      ["that is empty allows nothing", {}, pod],
      ["whose lists are empty allows nothing", { projects: [], rules: [] }, pod],
      ["with an unknown field allows nothing", { rules: [{}], more: [] }, pod],
      ["with a field of another type allows nothing", { rules: [{}], projects: "web" }, pod],
      ["that cannot be read does not even allow discovery", { rules: "all" }, pathRequest("/api")],
    ],
  ],
  [
    "a project entry",
    [
      ["covers what is in the project", { projects: [{ project: "web" }] }, inProject("web")],
      [
        "covers its paths",
        { projects: [{ project: "web" }] },
        pathRequest("/logs", { target: "ProjectVirtualCluster", project: "web" }),
      ],
      ["* covers every project", { projects: [{ project: "*" }] }, inProject("web")],
    ],
    [
      ["covers no other project", { projects: [{ project: "web" }] }, inProject("web2")],
      ["covers nothing outside of projects", { projects: [{ project: "*" }] }, pod],
      ["has no globs but the whole name", { projects: [{ project: "we*" }] }, inProject("web")],
      ["without a name covers nothing", { projects: [{}] }, inProject("")],
    ],
  ],
  [
    "a space entry",
    [
      [
        "covers the space",
        { spaces: [{ project: "web", space: "blue" }] },
        resourceRequest({ project: "web", space: "blue" }),
      ],
      [
        "* covers every space of the project",
        { spaces: [{ project: "web", space: "*" }] },
        resourceRequest({ project: "web", space: "blue" }),
      ],
    ],
    [
      [
        "covers no space of that name elsewhere",
        { spaces: [{ project: "web", space: "blue" }] },
        resourceRequest({ project: "pay", space: "blue" }),
      ],
      [
        "covers no other space",
        { spaces: [{ project: "web", space: "blue" }] },
        resourceRequest({ project: "web", space: "red" }),
      ],
      [
        "covers nothing in the project but spaces",
        { spaces: [{ project: "web", space: "*" }] },
        inProject("web"),
      ],
    ],
  ],
  [
    "a virtual cluster entry",
    [
      [
        "covers the virtual cluster",
        { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
        resourceRequest({ target: "ProjectVirtualCluster", project: "web", virtualCluster: "vc" }),
      ],
      [
        "* covers every one of the project",
        { virtualClusters: [{ project: "web", virtualCluster: "*" }] },
        resourceRequest({ project: "web", virtualCluster: "vc" }),
      ],
    ],
    [
      [
        "covers none of that name elsewhere",
        { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
        resourceRequest({ project: "pay", virtualCluster: "vc" }),
      ],
      [
        "covers no other",
        { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
        resourceRequest({ project: "web", virtualCluster: "wc" }),
      ],
    ],
  ],
  [
    "a cluster entry",
    [
      [
        "covers requests to the cluster",
        { clusters: [{ cluster: "c1" }] },
        resourceRequest({ target: "Cluster", cluster: "c1" }),
      ],
      [
        "* covers every connected cluster",
        { clusters: [{ cluster: "*" }] },
        resourceRequest({ target: "Cluster", cluster: "c1" }),
      ],
      [
        "covers what lies inside",
        { clusters: [{ cluster: "c1" }] },
        resourceRequest({ target: "ProjectSpace", cluster: "c1", project: "web", space: "blue" }),
      ],
    ],
    [
      [
        "covers no other cluster",
        { clusters: [{ cluster: "c1" }] },
        resourceRequest({ target: "Cluster", cluster: "c2" }),
      ],
      [
        "does not cover the central one",
        { clusters: [{ cluster: "*" }] },
        resourceRequest({ cluster: "c1" }),
      ],
    ],
  ],
  [
    "a role entry",
    [
      ["covers what its bundle permits", { roles: [{ role: "viewer" }] }, pod],
      [
        "covers one subresource of all",
        { roles: [{ role: "viewer" }] },
        resourceRequest({ subresource: "log" }),
      ],
      [
        "covers named objects",
        { roles: [{ role: "viewer" }] },
        resourceRequest({ group: "apps", resource: "deployments", name: "web", verb: "patch" }),
      ],
      ["covers paths", { roles: [{ role: "viewer" }] }, pathRequest("/logs/a")],
      [
        "is narrowed to projects",
        { roles: [{ role: "viewer", projects: ["web"] }] },
        inProject("web"),
      ],
      [
        "is narrowed to each of several projects",
        { roles: [{ role: "viewer", projects: ["pay", "web"] }] },
        inProject("web"),
      ],
      [
        "is narrowed to virtual clusters",
        { roles: [{ role: "viewer", virtualClusters: ["vc"] }] },
        resourceRequest({ virtualCluster: "vc" }),
      ],
      [
        "serviceCLI reads SharedSecrets",
        { roles: [{ role: "serviceCLI" }] },
        resourceRequest({
          group: "management.service",
          resource: "sharedsecrets",
          verb: "list",
          name: "",
        }),
      ],
      [
        "allowServiceCli means the same",
        { allowServiceCli: true },
        resourceRequest({
          group: "management.service",
          resource: "sharedsecrets",
          verb: "list",
          name: "",
        }),
      ],
    ],
    [
      [
        "covers no more than its bundle",
        { roles: [{ role: "viewer" }] },
        resourceRequest({ verb: "delete" }),
      ],
      [
        "covers no other names",
        { roles: [{ role: "viewer" }] },
        resourceRequest({ group: "apps", resource: "deployments", name: "db" }),
      ],
      [
        "covers the central cluster alone",
        { roles: [{ role: "viewer" }] },
        resourceRequest({ target: "Cluster", cluster: "c1" }),
      ],
      ["that nobody knows covers nothing", { roles: [{ role: "nobody" }] }, pod],
      [
        "covers nothing outside of the projects it is narrowed to",
        { roles: [{ role: "viewer", projects: ["web"] }] },
        pod,
      ],
      [
        "must fit both lists",
        { roles: [{ role: "viewer", projects: ["web"], virtualClusters: ["vc"] }] },
        inProject("web"),
      ],
      [
        "serviceCLI changes nothing",
        { roles: [{ role: "serviceCLI" }] },
        resourceRequest({ group: "management.service", resource: "sharedsecrets", verb: "update" }),
      ],
      [
        "allowServiceCli: false allows nothing",
        { allowServiceCli: false },
        resourceRequest({ group: "management.service", resource: "sharedsecrets" }),
      ],
    ],
  ],
  [
    "a rule",
    [
      ["that restricts nothing covers resources", rule({}), pod],
      ["that restricts nothing covers paths", rule({}), pathRequest("/metrics")],
      ["covers its verbs", rule({ verbs: ["get"] }), pod],
      [
        "without resources covers all of the group",
        rule({ resources: [{ group: "" }] }),
        resourceRequest({ subresource: "log" }),
      ],
      ["covers a resource", core("pods"), pod],
      ["covers a subresource", core("pods/log"), resourceRequest({ subresource: "log" })],
      ["covers every subresource of one", core("pods/*"), resourceRequest({ subresource: "log" })],
      ["covers one subresource of all", core("*/scale"), resourceRequest({ subresource: "scale" })],
      ["* covers subresources, too", core("*"), resourceRequest({ subresource: "log" })],
      [
        "covers its names",
        rule({ resources: [{ group: "", resources: ["pods"] }], resourceNames: ["p"] }),
        pod,
      ],
      ["covers its namespaces", rule({ namespaces: ["ns"] }), pod],
      [
        "with an empty namespace covers what is in none",
        rule({ namespaces: [""] }),
        resourceRequest({ resource: "nodes", namespace: "", resourceScope: "Cluster" }),
      ],
      [
        "with an empty namespace covers a namespace itself",
        rule({ namespaces: [""] }),
        resourceRequest({ resource: "namespaces", namespace: "ns", resourceScope: "Cluster" }),
      ],
      [
        "with a namespace covers that namespace itself",
        rule({ namespaces: ["ns"] }),
        resourceRequest({ resource: "namespaces", namespace: "ns", resourceScope: "Cluster" }),
      ],
      [
        "without namespaces covers a list over all of them",
        rule({}),
        resourceRequest({ verb: "list", name: "", namespace: "" }),
      ],
      ["covers a path", rule({ nonResourceURLs: ["/metrics"] }), pathRequest("/metrics")],
      [
        "covers what is below a path",
        rule({ nonResourceURLs: ["/logs/*"] }),
        pathRequest("/logs/a/b"),
      ],
      ["* covers every path", rule({ nonResourceURLs: ["*"] }), pathRequest("/metrics")],
      [
        "that lists paths and resources covers resources",
        rule({ nonResourceURLs: ["/metrics"], resources: [{ group: "" }] }),
        pod,
      ],
      [
        "that lists paths and resources covers paths",
        rule({ nonResourceURLs: ["/metrics"], resources: [{ group: "" }] }),
        pathRequest("/metrics"),
      ],
      [
        "covers its targets",
        rule({ requestTargets: ["Cluster"] }),
        resourceRequest({ target: "Cluster", cluster: "c1" }),
      ],
      [
        "covers its cluster",
        rule({ cluster: "c1" }),
        resourceRequest({ target: "Cluster", cluster: "c1" }),
      ],
      [
        "covers its virtual clusters",
        rule({ virtualClusters: [{ name: "vc", namespace: "home" }] }),
        resourceRequest({
          target: "ProjectVirtualCluster",
          virtualCluster: "vc",
          virtualClusterNamespace: "home",
        }),
      ],
      [
        "covers each of several virtual clusters",
        rule({ virtualClusters: [{ name: "wc" }, { name: "vc" }] }),
        resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "vc" }),
      ],
      [
        "covers every virtual cluster by an empty entry",
        rule({ virtualClusters: [{}] }),
        resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "vc" }),
      ],
    ],
    [
      ["covers no other verbs", rule({ verbs: ["get"] }), resourceRequest({ verb: "list" })],
      ["takes * for a verb of that name", rule({ verbs: ["*"] }), pod],
      ["covers no other group", named("apps", "pods"), pod],
      [
        "for a resource does not cover its subresources",
        core("pods"),
        resourceRequest({ subresource: "log" }),
      ],
      ["for all subresources does not cover the resource", core("pods/*"), pod],
      [
        "for one subresource covers no other",
        core("*/scale"),
        resourceRequest({ subresource: "log" }),
      ],
      [
        "for names does not cover lists",
        rule({ resources: [{ group: "", resources: ["pods"] }], resourceNames: ["p"] }),
        resourceRequest({ verb: "list", name: "" }),
      ],
      ["for names without resources covers nothing", rule({ resourceNames: ["p"] }), pod],
      ["covers no other namespace", rule({ namespaces: ["other"] }), pod],
      [
        "for what is in no namespace does not cover a list over all of them",
        rule({ namespaces: [""] }),
        resourceRequest({ verb: "list", name: "", namespace: "" }),
      ],
      ["for what is in no namespace covers nothing in one", rule({ namespaces: [""] }), pod],
      [
        "for namespaces does not cover a list over all of them",
        rule({ namespaces: ["ns"] }),
        resourceRequest({ verb: "list", name: "", namespace: "" }),
      ],
      [
        "covers nothing that the API server does not serve",
        rule({}),
        resourceRequest({ resourceScope: "Unknown" }),
      ],
      [
        "covers no group called constructor that the API server does not serve",
        rule({}),
        resourceRequest({ group: "constructor", resourceScope: "Unknown" }),
      ],
      [
        "for namespaces does not cover what is in none",
        rule({ namespaces: ["ns"] }),
        resourceRequest({ resource: "nodes", namespace: "" }),
      ],
      [
        "for a path covers nothing below it",
        rule({ nonResourceURLs: ["/logs"] }),
        pathRequest("/logs/a"),
      ],
      [
        "for what is below a path does not cover the path",
        rule({ nonResourceURLs: ["/logs/*"] }),
        pathRequest("/logs"),
      ],
      [
        "covers no path that leads elsewhere",
        rule({ nonResourceURLs: ["/logs/*"] }),
        pathRequest("/logs/../metrics"),
      ],
      ["that lists paths alone covers no resource", rule({ nonResourceURLs: ["*"] }), pod],
      ["that lists resources alone covers no path", core("pods"), pathRequest("/metrics")],
      [
        "that lists namespaces alone covers no path",
        rule({ namespaces: ["ns"] }),
        pathRequest("/metrics"),
      ],
      ["covers no other target", rule({ requestTargets: ["Cluster"] }), pod],
      [
        "for a cluster covers nothing else",
        rule({ cluster: "c1" }),
        resourceRequest({ cluster: "c1" }),
      ],
      [
        "for a cluster covers no other",
        rule({ cluster: "c1" }),
        resourceRequest({ target: "Cluster", cluster: "c2" }),
      ],
      [
        "for virtual clusters covers nothing else",
        rule({ virtualClusters: [{}] }),
        resourceRequest({ virtualCluster: "vc" }),
      ],
      [
        "for a virtual cluster covers no other",
        rule({ virtualClusters: [{ name: "vc" }] }),
        resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "wc" }),
      ],
      [
        "for a virtual cluster in a namespace covers none elsewhere",
        rule({ virtualClusters: [{ namespace: "home" }] }),
        resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "vc" }),
      ],
    ],
  ],
  [
    "core Secrets",
    [
      ["are covered by a rule that names them", core("secrets"), secret()],
      ["are covered by a rule that names them beside others", core("pods", "secrets"), secret()],
      ["are covered by a project", { projects: [{ project: "web" }] }, secret({ project: "web" })],
      [
        "are covered by a space",
        { spaces: [{ project: "web", space: "*" }] },
        secret({ project: "web", space: "blue" }),
      ],
      [
        "are covered by a virtual cluster",
        { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
        secret({ project: "web", virtualCluster: "vc" }),
      ],
      [
        "are covered by a connected cluster",
        { clusters: [{ cluster: "c1" }] },
        secret({ target: "Cluster", cluster: "c1" }),
      ],
      [
        "are covered by a role whose bundle names them",
        { roles: [{ role: "viewer" }] },
        secret({ verb: "list", name: "" }),
      ],
      ["are not resources of that name in other groups", rule({}), secret({ group: "apps" })],
    ],
    [
      ["are not covered by a rule without resources", rule({}), secret()],
      ["are not covered by a rule without resources in the group", core(), secret()],
      ["are not covered by *", core("*"), secret()],
      ["are not covered by a rule that names them elsewhere", named("apps", "secrets"), secret()],
      [
        "are not covered by one rule that names others and one that does not name them",
        {
          rules: [
            { resources: [{ group: "", resources: ["secrets"] }], namespaces: ["other"] },
            {},
          ],
        },
        secret(),
      ],
      [
        "are not covered by a role whose bundle covers everything",
        { roles: [{ role: "everything" }] },
        secret(),
      ],
      [
        "of all namespaces are not covered by a rule that names them",
        core("secrets"),
        secret({ verb: "list", name: "", namespace: "" }),
      ],
      [
        "of all namespaces are not covered by a role that names them",
        { roles: [{ role: "viewer" }] },
        secret({ verb: "list", name: "", namespace: "" }),
      ],
      [
        "have no subresource that a wildcard covers",
        core("secrets", "secrets/*", "*/log"),
        secret({ subresource: "log" }),
      ],
      [
        "have no subresource that a project covers",
        { projects: [{ project: "web" }] },
        secret({ subresource: "log", project: "web" }),
      ],
    ],
  ],
  ...["latchkey-system", "latchkey-clusters", "kube-system"].map(
    (namespace): [string, Case[], Case[]] => [
      `what is in namespace ${namespace}`,
      [
        [
          "is covered by a rule that lists it and the resource",
          rule({ resources: [{ group: "", resources: ["pods"] }], namespaces: ["ns", namespace] }),
          resourceRequest({ namespace }),
        ],
        [
          "is covered where such a rule names Secrets",
          rule({ resources: [{ group: "", resources: ["secrets"] }], namespaces: [namespace] }),
          secret({ namespace }),
        ],
      ],
      [
        ["is not covered by a rule that lists neither", rule({}), resourceRequest({ namespace })],
        [
          "is not covered by a rule that lists the resource alone",
          core("pods"),
          resourceRequest({ namespace }),
        ],
        [
          "is not covered by a rule that lists the namespace alone",
          rule({ namespaces: [namespace] }),
          resourceRequest({ namespace }),
        ],
        [
          "is not covered by a rule that lists the namespace and *",
          rule({ resources: [{ group: "", resources: ["*"] }], namespaces: [namespace] }),
          resourceRequest({ namespace }),
        ],
        [
          "is not covered by two rules that list one each",
          {
            rules: [
              { resources: [{ group: "", resources: ["pods"] }] },
              { namespaces: [namespace] },
            ],
          },
          resourceRequest({ namespace }),
        ],
        [
          "is not covered by a project",
          { projects: [{ project: "*" }] },
          resourceRequest({ namespace, project: "web" }),
        ],
        [
          "is not covered by a connected cluster",
          { clusters: [{ cluster: "*" }] },
          resourceRequest({ namespace, target: "Cluster", cluster: "c1" }),
        ],
        [
          "is not covered by a role",
          { roles: [{ role: "viewer" }] },
          resourceRequest({ namespace }),
        ],
      ],
    ],
  ),
  [
    "whatever the scope, a key",
    [
      ["may ask what the API is", {}, pathRequest("/apis/apps/v1")],
      ["may ask for the version", {}, pathRequest("/version")],
      [
        "may ask who it is",
        {},
        resourceRequest({
          verb: "create",
          group: "authentication.k8s.io",
          resource: "selfsubjectreviews",
          namespace: "",
          name: "",
        }),
      ],
      [
        "may ask what it may",
        {},
        resourceRequest({
          verb: "create",
          group: "authorization.k8s.io",
          resource: "selfsubjectaccessreviews",
          namespace: "",
          name: "",
        }),
      ],
    ],
    [
      [
        "may not ask what others may",
        {},
        resourceRequest({
          verb: "create",
          group: "authorization.k8s.io",
          resource: "subjectaccessreviews",
          namespace: "",
          name: "",
        }),
      ],
      ["may not write to discovery", {}, pathRequest("/api", { verb: "post" })],
      ["may not read other paths", {}, pathRequest("/metrics")],
    ],
  ],
  [
    "a request that could reach beyond the scope",
    [
      [
        "is in scope where a rule names the resource",
        core("serviceaccounts/token"),
        resourceRequest({ verb: "create", resource: "serviceaccounts", subresource: "token" }),
      ],
      [
        "is in scope where a rule names resource and verb",
        rule({ verbs: ["impersonate"], resources: [{ group: "", resources: ["users"] }] }),
        resourceRequest({ verb: "impersonate", resource: "users", name: "bob", namespace: "" }),
      ],
      [
        "is none where it only reads",
        rule({}),
        resourceRequest({ group: "rbac.authorization.k8s.io", resource: "roles" }),
      ],
      [
        "is none where it creates a key, which admission limits",
        rule({}),
        resourceRequest({
          verb: "create",
          group: "management.service",
          resource: "ownedaccesskeys",
          namespace: "",
          name: "",
        }),
      ],
    ],
    [
      [
        "is not covered by a rule without resources",
        rule({}),
        resourceRequest({ verb: "create", resource: "serviceaccounts", subresource: "token" }),
      ],
      [
        "is not covered by a wildcard",
        core("*"),
        resourceRequest({ verb: "create", resource: "serviceaccounts", subresource: "token" }),
      ],
      [
        "is not covered by a project",
        { projects: [{ project: "*" }] },
        resourceRequest({
          verb: "create",
          resource: "serviceaccounts",
          subresource: "token",
          project: "web",
        }),
      ],
      [
        "is not covered by a role",
        { roles: [{ role: "viewer" }] },
        resourceRequest({ verb: "patch", resource: "namespaces", name: "ns" }),
      ],
      [
        "to act as somebody needs the verb, too",
        core("users"),
        resourceRequest({ verb: "impersonate", resource: "users", name: "bob", namespace: "" }),
      ],
      [
        "to act as somebody on a resource needs the verb, too",
        core("pods"),
        resourceRequest({ verb: "impersonate-on:user-info:get" }),
      ],
      [
        "is reading keys",
        rule({}),
        resourceRequest({
          group: "management.service",
          resource: "ownedaccesskeys",
          namespace: "",
        }),
      ],
      [
        "is reading tokens",
        rule({}),
        resourceRequest({
          verb: "list",
          group: "management.service",
          resource: "directclusterendpointtokens",
          namespace: "",
          name: "",
        }),
      ],
      [
        "is signing",
        rule({}),
        resourceRequest({
          verb: "approve",
          group: "certificates.k8s.io",
          resource: "signers",
          namespace: "",
        }),
      ],
      [
        "is asking for a certificate",
        rule({}),
        resourceRequest({
          verb: "create",
          group: "certificates.k8s.io",
          resource: "certificatesigningrequests",
          namespace: "",
          name: "",
        }),
      ],
      [
        "is writing roles",
        rule({}),
        resourceRequest({
          verb: "update",
          group: "rbac.authorization.k8s.io",
          resource: "clusterroles",
          namespace: "",
        }),
      ],
      [
        "is writing policies",
        rule({}),
        resourceRequest({
          verb: "delete",
          group: "admissionregistration.k8s.io",
          resource: "validatingadmissionpolicies",
          namespace: "",
        }),
      ],
      [
        "is labelling a namespace",
        rule({}),
        resourceRequest({ verb: "patch", resource: "namespaces", name: "ns" }),
      ],
      [
        "is reaching a kubelet",
        rule({}),
        resourceRequest({ resource: "nodes", subresource: "proxy", namespace: "" }),
      ],
      [
        "is changing what a kind is",
        rule({}),
        resourceRequest({
          verb: "patch",
          group: "apiextensions.k8s.io",
          resource: "customresourcedefinitions",
          namespace: "",
        }),
      ],
      [
        "is changing keys of one's own by any subresource",
        core("*"),
        resourceRequest({
          verb: "patch",
          group: "management.service",
          resource: "ownedaccesskeys",
          subresource: "scale",
          namespace: "",
        }),
      ],
      [
        "is deleting many roles at once",
        rule({}),
        resourceRequest({
          verb: "deletecollection",
          group: "rbac.authorization.k8s.io",
          resource: "roles",
          name: "",
        }),
      ],
      [
        "is finishing a namespace by a wildcard of subresources",
        core("*/finalize"),
        resourceRequest({ verb: "update", resource: "namespaces", subresource: "finalize" }),
      ],
      [
        "is standing in for the API server",
        rule({}),
        resourceRequest({
          verb: "create",
          group: "apiregistration.k8s.io",
          resource: "apiservices",
          namespace: "",
          name: "",
        }),
      ],
    ],
  ],
])("%s", (_, allowing, denying) => {
  test.each(allowing)("%s", (_name, scope, request) =>
    expect(isAllowed(scope, request)).toBe(true),
  );
  test.each(denying)("%s", (_name, scope, request) =>
    expect(isAllowed(scope, request)).toBe(false),
  );
});

test.each<[ScopedRequest, string]>([
  [
    resourceRequest({ subresource: "log" }),
    "get pods/log p in namespace ns: no entry of the scope covers it",
  ],
  [
    resourceRequest({
      group: "apps",
      resource: "deployments",
      name: "",
      verb: "list",
      namespace: "",
    }),
    "list deployments.apps: no entry of the scope covers it",
  ],
  [pathRequest("/metrics"), "get /metrics: no entry of the scope covers it"],
  [
    resourceRequest({ resource: "things", resourceScope: "Unknown" }),
    "get things p in namespace ns: the API server does not serve this resource",
  ],
  [
    resourceRequest({ namespace: "kube-system" }),
    "get pods p in namespace kube-system: namespace kube-system is protected; a rule must list this namespace and this resource by name",
  ],
  [
    secret({ verb: "list", name: "", namespace: "" }),
    "list secrets: a scope does not cover Secrets of all namespaces; request one namespace",
  ],
  [
    resourceRequest({ verb: "patch", resource: "namespaces", namespace: "" }),
    "patch namespaces p: it could escape the scope; a rule must list this resource by name",
  ],
])("a refusal says what was refused, and why", (request, expected) => {
  expect(allows(parseScopeLimit({}), request, context)).toEqual({
    kind: "denied",
    reason: `the scope of this credential does not allow ${expected}`,
  });
});

test("a refusal of Secrets says what a rule lacks, if there is one", () => {
  const reasonOf = (scope: unknown) => allows(parseScopeLimit(scope), secret(), context);
  expect(reasonOf(rule({}))).toMatchObject({
    reason: expect.stringMatching(
      /: a rule covers Secrets only if its resources list secrets by name$/,
    ),
  });
  expect(reasonOf({})).toMatchObject({
    reason: expect.stringMatching(/: no entry of the scope covers it$/),
  });
});

test("a scope that cannot be read says so", () => {
  expect(allows("unreadable", pod, context)).toEqual({
    kind: "denied",
    reason:
      "the scope of this credential does not allow get pods p in namespace ns: the scope is invalid",
  });
});
