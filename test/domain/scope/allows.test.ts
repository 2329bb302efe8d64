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
    [["that is absent restricts nothing", undefined, pod]],
    [
      ["that is empty allows nothing", {}, pod],
      ["whose lists are empty allows nothing", { projects: [], rules: [] }, pod],
      ["with an unknown field allows nothing", { rules: [{}], more: [] }, pod],
      ["with a field of another type allows nothing", { rules: [{}], projects: "web" }, pod],
      ["that is invalid does not even allow discovery", { rules: "all" }, pathRequest("/api")],
    ],
  ],
  [
    "a project entry",
    [
      ["covers resources in the project", { projects: [{ project: "web" }] }, inProject("web")],
      [
        "covers paths in the project",
        { projects: [{ project: "web" }] },
        pathRequest("/logs", { target: "ProjectVirtualCluster", project: "web" }),
      ],
      ["* covers every project", { projects: [{ project: "*" }] }, inProject("web")],
    ],
    [
      ["covers no other project", { projects: [{ project: "web" }] }, inProject("web2")],
      ["covers nothing outside of projects", { projects: [{ project: "*" }] }, pod],
      [
        "supports no globs except * as the whole name",
        { projects: [{ project: "we*" }] },
        inProject("web"),
      ],
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
        "does not cover a space with that name in another project",
        { spaces: [{ project: "web", space: "blue" }] },
        resourceRequest({ project: "pay", space: "blue" }),
      ],
      [
        "covers no other space",
        { spaces: [{ project: "web", space: "blue" }] },
        resourceRequest({ project: "web", space: "red" }),
      ],
      [
        "covers only spaces in the project",
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
        "* covers every virtual cluster of the project",
        { virtualClusters: [{ project: "web", virtualCluster: "*" }] },
        resourceRequest({ project: "web", virtualCluster: "vc" }),
      ],
    ],
    [
      [
        "does not cover a virtual cluster with that name in another project",
        { virtualClusters: [{ project: "web", virtualCluster: "vc" }] },
        resourceRequest({ project: "pay", virtualCluster: "vc" }),
      ],
      [
        "covers no other virtual cluster",
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
        "covers the spaces and virtual clusters of the cluster",
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
        "does not cover the central cluster",
        { clusters: [{ cluster: "*" }] },
        resourceRequest({ cluster: "c1" }),
      ],
    ],
  ],
  [
    "a role entry",
    [
      ["covers what its rules permit", { roles: [{ role: "viewer" }] }, pod],
      [
        "covers one subresource of all resources",
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
        "is restricted to projects",
        { roles: [{ role: "viewer", projects: ["web"] }] },
        inProject("web"),
      ],
      [
        "is restricted to each of several projects",
        { roles: [{ role: "viewer", projects: ["pay", "web"] }] },
        inProject("web"),
      ],
      [
        "is restricted to virtual clusters",
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
        "allowServiceCli is the same role",
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
        "does not cover more than its rules",
        { roles: [{ role: "viewer" }] },
        resourceRequest({ verb: "delete" }),
      ],
      [
        "covers no other names",
        { roles: [{ role: "viewer" }] },
        resourceRequest({ group: "apps", resource: "deployments", name: "db" }),
      ],
      [
        "covers only the central cluster",
        { roles: [{ role: "viewer" }] },
        resourceRequest({ target: "Cluster", cluster: "c1" }),
      ],
      ["that does not exist covers nothing", { roles: [{ role: "nobody" }] }, pod],
      [
        "covers nothing outside of its projects",
        { roles: [{ role: "viewer", projects: ["web"] }] },
        pod,
      ],
      [
        "must match both lists",
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
      [
        "covers one subresource of all resources",
        core("*/scale"),
        resourceRequest({ subresource: "scale" }),
      ],
      ["* also covers subresources", core("*"), resourceRequest({ subresource: "log" })],
      [
        "covers its names",
        rule({ resources: [{ group: "", resources: ["pods"] }], resourceNames: ["p"] }),
        pod,
      ],
      ["covers its namespaces", rule({ namespaces: ["ns"] }), pod],
      [
        "with an empty namespace covers cluster-scoped resources",
        rule({ namespaces: [""] }),
        resourceRequest({ resource: "nodes", namespace: "", resourceScope: "Cluster" }),
      ],
      [
        "with an empty namespace covers the resource namespaces",
        rule({ namespaces: [""] }),
        resourceRequest({ resource: "namespaces", namespace: "ns", resourceScope: "Cluster" }),
      ],
      [
        "with a namespace covers the Namespace itself",
        rule({ namespaces: ["ns"] }),
        resourceRequest({ resource: "namespaces", namespace: "ns", resourceScope: "Cluster" }),
      ],
      [
        "without namespaces covers a list over all namespaces",
        rule({}),
        resourceRequest({ verb: "list", name: "", namespace: "" }),
      ],
      ["covers a path", rule({ nonResourceURLs: ["/metrics"] }), pathRequest("/metrics")],
      [
        "covers paths below a path",
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
      ["takes * literally as a verb", rule({ verbs: ["*"] }), pod],
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
        "for cluster-scoped resources does not cover a list over all namespaces",
        rule({ namespaces: [""] }),
        resourceRequest({ verb: "list", name: "", namespace: "" }),
      ],
      [
        "for cluster-scoped resources covers nothing in a namespace",
        rule({ namespaces: [""] }),
        pod,
      ],
      [
        "for namespaces does not cover a list over all namespaces",
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
        "for namespaces does not cover cluster-scoped resources",
        rule({ namespaces: ["ns"] }),
        resourceRequest({ resource: "nodes", namespace: "" }),
      ],
      [
        "for a path covers nothing below it",
        rule({ nonResourceURLs: ["/logs"] }),
        pathRequest("/logs/a"),
      ],
      [
        "for paths below a path does not cover the path",
        rule({ nonResourceURLs: ["/logs/*"] }),
        pathRequest("/logs"),
      ],
      [
        "covers no path with .. segments",
        rule({ nonResourceURLs: ["/logs/*"] }),
        pathRequest("/logs/../metrics"),
      ],
      ["that only lists paths covers no resource", rule({ nonResourceURLs: ["*"] }), pod],
      ["that only lists resources covers no path", core("pods"), pathRequest("/metrics")],
      [
        "that only lists namespaces covers no path",
        rule({ namespaces: ["ns"] }),
        pathRequest("/metrics"),
      ],
      ["covers no other target", rule({ requestTargets: ["Cluster"] }), pod],
      [
        "for a cluster covers no other target",
        rule({ cluster: "c1" }),
        resourceRequest({ cluster: "c1" }),
      ],
      [
        "for a cluster covers no other cluster",
        rule({ cluster: "c1" }),
        resourceRequest({ target: "Cluster", cluster: "c2" }),
      ],
      [
        "for virtual clusters covers no other target",
        rule({ virtualClusters: [{}] }),
        resourceRequest({ virtualCluster: "vc" }),
      ],
      [
        "for a virtual cluster covers no other virtual cluster",
        rule({ virtualClusters: [{ name: "vc" }] }),
        resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "wc" }),
      ],
      [
        "for a virtual cluster in a namespace covers none in other namespaces",
        rule({ virtualClusters: [{ namespace: "home" }] }),
        resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "vc" }),
      ],
    ],
  ],
  [
    "core Secrets",
    [
      ["are covered by a rule that names them", core("secrets"), secret()],
      [
        "are covered by a rule that names them with other resources",
        core("pods", "secrets"),
        secret(),
      ],
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
        "are covered by a role that names them",
        { roles: [{ role: "viewer" }] },
        secret({ verb: "list", name: "" }),
      ],
      ["are only the resource of the core group", rule({}), secret({ group: "apps" })],
    ],
    [
      ["are not covered by a rule without resources", rule({}), secret()],
      ["are not covered by a rule without resources in the group", core(), secret()],
      ["are not covered by *", core("*"), secret()],
      [
        "are not covered by a rule that names secrets of another group",
        named("apps", "secrets"),
        secret(),
      ],
      [
        "are not covered by one rule that names them elsewhere and one that does not name them",
        {
          rules: [
            { resources: [{ group: "", resources: ["secrets"] }], namespaces: ["other"] },
            {},
          ],
        },
        secret(),
      ],
      ["are not covered by a role with wildcards", { roles: [{ role: "everything" }] }, secret()],
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
    "regardless of the scope, a key",
    [
      ["may use discovery", {}, pathRequest("/apis/apps/v1")],
      ["may read the version", {}, pathRequest("/version")],
      [
        "may review its own identity",
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
        "may review its own permissions",
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
        "may not review the permissions of others",
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
    "a request that could escape the scope",
    [
      [
        "is allowed if a rule names the resource",
        core("serviceaccounts/token"),
        resourceRequest({ verb: "create", resource: "serviceaccounts", subresource: "token" }),
      ],
      [
        "is allowed if a rule names the resource and the verb",
        rule({ verbs: ["impersonate"], resources: [{ group: "", resources: ["users"] }] }),
        resourceRequest({ verb: "impersonate", resource: "users", name: "bob", namespace: "" }),
      ],
      [
        "does not include reading",
        rule({}),
        resourceRequest({ group: "rbac.authorization.k8s.io", resource: "roles" }),
      ],
      [
        "does not include creating a key, which admission limits",
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
        "to impersonate must be covered by its verb, too",
        core("users"),
        resourceRequest({ verb: "impersonate", resource: "users", name: "bob", namespace: "" }),
      ],
      [
        "to impersonate on a resource must be covered by its verb, too",
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
        "is approving signers",
        rule({}),
        resourceRequest({
          verb: "approve",
          group: "certificates.k8s.io",
          resource: "signers",
          namespace: "",
        }),
      ],
      [
        "is requesting a certificate",
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
        "is changing roles",
        rule({}),
        resourceRequest({
          verb: "update",
          group: "rbac.authorization.k8s.io",
          resource: "clusterroles",
          namespace: "",
        }),
      ],
      [
        "is changing policies",
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
        "is using the proxy of a node",
        rule({}),
        resourceRequest({ resource: "nodes", subresource: "proxy", namespace: "" }),
      ],
      [
        "is changing a CRD",
        rule({}),
        resourceRequest({
          verb: "patch",
          group: "apiextensions.k8s.io",
          resource: "customresourcedefinitions",
          namespace: "",
        }),
      ],
      [
        "is changing keys through any subresource",
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
        "is deleting a collection of roles",
        rule({}),
        resourceRequest({
          verb: "deletecollection",
          group: "rbac.authorization.k8s.io",
          resource: "roles",
          name: "",
        }),
      ],
      [
        "is finalizing a namespace with a wildcard of subresources",
        core("*/finalize"),
        resourceRequest({ verb: "update", resource: "namespaces", subresource: "finalize" }),
      ],
      [
        "is registering an aggregated API server",
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
])("the reason of a denial names the request and the cause", (request, expected) => {
  expect(allows(parseScopeLimit({}), request, context)).toEqual({
    kind: "denied",
    reason: `the scope of this credential does not allow ${expected}`,
  });
});

test("the reason of a denial of Secrets names what a rule lacks, if there is one", () => {
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

test("the reason of a denial names an invalid scope", () => {
  expect(allows("unreadable", pod, context)).toEqual({
    kind: "denied",
    reason:
      "the scope of this credential does not allow get pods p in namespace ns: the scope is invalid",
  });
});
