import { describe, expect, test } from "vitest";
import type { ScopedRequest } from "../../../src/domain/scope/request.ts";
import { allows } from "../../../src/domain/scope/allows.ts";
import { pathRequest, resourceRequest } from "./requests.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { isAllowed, roles } from "./verdict-of.ts";

const pod = resourceRequest();
const inProject = (project: string) => resourceRequest({ project });
const rule = (fields: object) => ({ rules: [fields] });
const core = (...resources: readonly string[]) => rule({ resources: [{ group: "", resources }] });
const named = (group: string, ...resources: readonly string[]) => rule({ resources: [{ group, resources }] });

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
      ["covers its paths", { projects: [{ project: "web" }] }, pathRequest("/logs", { target: "ProjectVirtualCluster", project: "web" })],
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
      ["covers the space", { spaces: [{ project: "web", space: "blue" }] }, resourceRequest({ project: "web", space: "blue" })],
      ["* covers every space of the project", { spaces: [{ project: "web", space: "*" }] }, resourceRequest({ project: "web", space: "blue" })],
    ],
    [
      ["covers no space of that name elsewhere", { spaces: [{ project: "web", space: "blue" }] }, resourceRequest({ project: "pay", space: "blue" })],
      ["covers no other space", { spaces: [{ project: "web", space: "blue" }] }, resourceRequest({ project: "web", space: "red" })],
      ["covers nothing in the project but spaces", { spaces: [{ project: "web", space: "*" }] }, inProject("web")],
    ],
  ],
  [
    "a virtual cluster entry",
    [
      ["covers the virtual cluster", { virtualClusters: [{ project: "web", virtualCluster: "vc" }] }, resourceRequest({ target: "ProjectVirtualCluster", project: "web", virtualCluster: "vc" })],
      ["* covers every one of the project", { virtualClusters: [{ project: "web", virtualCluster: "*" }] }, resourceRequest({ project: "web", virtualCluster: "vc" })],
    ],
    [
      ["covers none of that name elsewhere", { virtualClusters: [{ project: "web", virtualCluster: "vc" }] }, resourceRequest({ project: "pay", virtualCluster: "vc" })],
      ["covers no other", { virtualClusters: [{ project: "web", virtualCluster: "vc" }] }, resourceRequest({ project: "web", virtualCluster: "wc" })],
    ],
  ],
  [
    "a cluster entry",
    [
      ["covers requests to the cluster", { clusters: [{ cluster: "c1" }] }, resourceRequest({ target: "Cluster", cluster: "c1" })],
      ["* covers every connected cluster", { clusters: [{ cluster: "*" }] }, resourceRequest({ target: "Cluster", cluster: "c1" })],
      ["covers what lies inside", { clusters: [{ cluster: "c1" }] }, resourceRequest({ target: "ProjectSpace", cluster: "c1", project: "web", space: "blue" })],
    ],
    [
      ["covers no other cluster", { clusters: [{ cluster: "c1" }] }, resourceRequest({ target: "Cluster", cluster: "c2" })],
      ["does not cover the central one", { clusters: [{ cluster: "*" }] }, resourceRequest({ cluster: "c1" })],
    ],
  ],
  [
    "a role entry",
    [
      ["covers what its bundle permits", { roles: [{ role: "viewer" }] }, pod],
      ["covers one subresource of all", { roles: [{ role: "viewer" }] }, resourceRequest({ subresource: "log" })],
      ["covers named objects", { roles: [{ role: "viewer" }] }, resourceRequest({ group: "apps", resource: "deployments", name: "web", verb: "patch" })],
      ["covers paths", { roles: [{ role: "viewer" }] }, pathRequest("/logs/a")],
      ["is narrowed to projects", { roles: [{ role: "viewer", projects: ["web"] }] }, inProject("web")],
      ["is narrowed to each of several projects", { roles: [{ role: "viewer", projects: ["pay", "web"] }] }, inProject("web")],
      ["is narrowed to virtual clusters", { roles: [{ role: "viewer", virtualClusters: ["vc"] }] }, resourceRequest({ virtualCluster: "vc" })],
      ["serviceCLI reads SharedSecrets", { roles: [{ role: "serviceCLI" }] }, resourceRequest({ group: "management.service", resource: "sharedsecrets", verb: "list", name: "" })],
      ["allowServiceCli means the same", { allowServiceCli: true }, resourceRequest({ group: "management.service", resource: "sharedsecrets", verb: "list", name: "" })],
    ],
    [
      ["covers no more than its bundle", { roles: [{ role: "viewer" }] }, resourceRequest({ verb: "delete" })],
      ["covers no other names", { roles: [{ role: "viewer" }] }, resourceRequest({ group: "apps", resource: "deployments", name: "db" })],
      ["covers the central cluster alone", { roles: [{ role: "viewer" }] }, resourceRequest({ target: "Cluster", cluster: "c1" })],
      ["that nobody knows covers nothing", { roles: [{ role: "nobody" }] }, pod],
      ["covers nothing outside of the projects it is narrowed to", { roles: [{ role: "viewer", projects: ["web"] }] }, pod],
      ["must fit both lists", { roles: [{ role: "viewer", projects: ["web"], virtualClusters: ["vc"] }] }, inProject("web")],
      ["serviceCLI changes nothing", { roles: [{ role: "serviceCLI" }] }, resourceRequest({ group: "management.service", resource: "sharedsecrets", verb: "update" })],
      ["allowServiceCli: false allows nothing", { allowServiceCli: false }, resourceRequest({ group: "management.service", resource: "sharedsecrets" })],
    ],
  ],
  [
    "a rule",
    [
      ["that restricts nothing covers resources", rule({}), pod],
      ["that restricts nothing covers paths", rule({}), pathRequest("/metrics")],
      ["covers its verbs", rule({ verbs: ["get"] }), pod],
      ["without resources covers all of the group", rule({ resources: [{ group: "" }] }), resourceRequest({ subresource: "log" })],
      ["covers a resource", core("pods"), pod],
      ["covers a subresource", core("pods/log"), resourceRequest({ subresource: "log" })],
      ["covers every subresource of one", core("pods/*"), resourceRequest({ subresource: "log" })],
      ["covers one subresource of all", core("*/scale"), resourceRequest({ subresource: "scale" })],
      ["* covers subresources, too", core("*"), resourceRequest({ subresource: "log" })],
      ["covers its names", rule({ resources: [{ group: "", resources: ["pods"] }], resourceNames: ["p"] }), pod],
      ["covers its namespaces", rule({ namespaces: ["ns"] }), pod],
      ["with an empty namespace covers what is in none", rule({ namespaces: [""] }), resourceRequest({ resource: "nodes", namespace: "" })],
      ["covers a path", rule({ nonResourceURLs: ["/metrics"] }), pathRequest("/metrics")],
      ["covers what is below a path", rule({ nonResourceURLs: ["/logs/*"] }), pathRequest("/logs/a/b")],
      ["* covers every path", rule({ nonResourceURLs: ["*"] }), pathRequest("/metrics")],
      ["that lists paths and resources covers resources", rule({ nonResourceURLs: ["/metrics"], resources: [{ group: "" }] }), pod],
      ["that lists paths and resources covers paths", rule({ nonResourceURLs: ["/metrics"], resources: [{ group: "" }] }), pathRequest("/metrics")],
      ["covers its targets", rule({ requestTargets: ["Cluster"] }), resourceRequest({ target: "Cluster", cluster: "c1" })],
      ["covers its cluster", rule({ cluster: "c1" }), resourceRequest({ target: "Cluster", cluster: "c1" })],
      ["covers its virtual clusters", rule({ virtualClusters: [{ name: "vc", namespace: "home" }] }), resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "vc", virtualClusterNamespace: "home" })],
      ["covers each of several virtual clusters", rule({ virtualClusters: [{ name: "wc" }, { name: "vc" }] }), resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "vc" })],
      ["covers every virtual cluster by an empty entry", rule({ virtualClusters: [{}] }), resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "vc" })],
    ],
    [
      ["covers no other verbs", rule({ verbs: ["get"] }), resourceRequest({ verb: "list" })],
      ["takes * for a verb of that name", rule({ verbs: ["*"] }), pod],
      ["covers no other group", named("apps", "pods"), pod],
      ["for a resource does not cover its subresources", core("pods"), resourceRequest({ subresource: "log" })],
      ["for all subresources does not cover the resource", core("pods/*"), pod],
      ["for one subresource covers no other", core("*/scale"), resourceRequest({ subresource: "log" })],
      ["for names does not cover lists", rule({ resources: [{ group: "", resources: ["pods"] }], resourceNames: ["p"] }), resourceRequest({ verb: "list", name: "" })],
      ["for names without resources covers nothing", rule({ resourceNames: ["p"] }), pod],
      ["covers no other namespace", rule({ namespaces: ["other"] }), pod],
      ["for namespaces does not cover what is in none", rule({ namespaces: ["ns"] }), resourceRequest({ resource: "nodes", namespace: "" })],
      ["for a path covers nothing below it", rule({ nonResourceURLs: ["/logs"] }), pathRequest("/logs/a")],
      ["for what is below a path does not cover the path", rule({ nonResourceURLs: ["/logs/*"] }), pathRequest("/logs")],
      ["covers no path that leads elsewhere", rule({ nonResourceURLs: ["/logs/*"] }), pathRequest("/logs/../metrics")],
      ["that lists paths alone covers no resource", rule({ nonResourceURLs: ["*"] }), pod],
      ["that lists resources alone covers no path", core("pods"), pathRequest("/metrics")],
      ["that lists namespaces alone covers no path", rule({ namespaces: ["ns"] }), pathRequest("/metrics")],
      ["covers no other target", rule({ requestTargets: ["Cluster"] }), pod],
      ["for a cluster covers nothing else", rule({ cluster: "c1" }), resourceRequest({ cluster: "c1" })],
      ["for a cluster covers no other", rule({ cluster: "c1" }), resourceRequest({ target: "Cluster", cluster: "c2" })],
      ["for virtual clusters covers nothing else", rule({ virtualClusters: [{}] }), resourceRequest({ virtualCluster: "vc" })],
      ["for a virtual cluster covers no other", rule({ virtualClusters: [{ name: "vc" }] }), resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "wc" })],
      ["for a virtual cluster in a namespace covers none elsewhere", rule({ virtualClusters: [{ namespace: "home" }] }), resourceRequest({ target: "ProjectVirtualCluster", virtualCluster: "vc" })],
    ],
  ],
  [
    "whatever the scope, a key",
    [
      ["may ask what the API is", {}, pathRequest("/apis/apps/v1")],
      ["may ask for the version", {}, pathRequest("/version")],
      ["may ask who it is", {}, resourceRequest({ verb: "create", group: "authentication.k8s.io", resource: "selfsubjectreviews", namespace: "", name: "" })],
      ["may ask what it may", {}, resourceRequest({ verb: "create", group: "authorization.k8s.io", resource: "selfsubjectaccessreviews", namespace: "", name: "" })],
    ],
    [
      ["may not ask what others may", {}, resourceRequest({ verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews", namespace: "", name: "" })],
      ["may not write to discovery", {}, pathRequest("/api", { verb: "post" })],
      ["may not read other paths", {}, pathRequest("/metrics")],
    ],
  ],
  [
    "a request that could reach beyond the scope",
    [
      ["is in scope where a rule names the resource", core("serviceaccounts/token"), resourceRequest({ verb: "create", resource: "serviceaccounts", subresource: "token" })],
      ["is in scope where a rule names resource and verb", rule({ verbs: ["impersonate"], resources: [{ group: "", resources: ["users"] }] }), resourceRequest({ verb: "impersonate", resource: "users", name: "bob", namespace: "" })],
      ["is none where it only reads", rule({}), resourceRequest({ group: "rbac.authorization.k8s.io", resource: "roles" })],
      ["is none where it creates a key, which admission limits", rule({}), resourceRequest({ verb: "create", group: "management.service", resource: "ownedaccesskeys", namespace: "", name: "" })],
    ],
    [
      ["is not covered by a rule without resources", rule({}), resourceRequest({ verb: "create", resource: "serviceaccounts", subresource: "token" })],
      ["is not covered by a wildcard", core("*"), resourceRequest({ verb: "create", resource: "serviceaccounts", subresource: "token" })],
      ["is not covered by a project", { projects: [{ project: "*" }] }, resourceRequest({ verb: "create", resource: "serviceaccounts", subresource: "token", project: "web" })],
      ["is not covered by a role", { roles: [{ role: "viewer" }] }, resourceRequest({ verb: "patch", resource: "namespaces", name: "ns" })],
      ["to act as somebody needs the verb, too", core("users"), resourceRequest({ verb: "impersonate", resource: "users", name: "bob", namespace: "" })],
      ["to act as somebody on a resource needs the verb, too", core("pods"), resourceRequest({ verb: "impersonate-on:user-info:get" })],
      ["is reading keys", rule({}), resourceRequest({ group: "management.service", resource: "ownedaccesskeys", namespace: "" })],
      ["is reading tokens", rule({}), resourceRequest({ verb: "list", group: "management.service", resource: "directclusterendpointtokens", namespace: "", name: "" })],
      ["is signing", rule({}), resourceRequest({ verb: "approve", group: "certificates.k8s.io", resource: "signers", namespace: "" })],
      ["is asking for a certificate", rule({}), resourceRequest({ verb: "create", group: "certificates.k8s.io", resource: "certificatesigningrequests", namespace: "", name: "" })],
      ["is writing roles", rule({}), resourceRequest({ verb: "update", group: "rbac.authorization.k8s.io", resource: "clusterroles", namespace: "" })],
      ["is writing policies", rule({}), resourceRequest({ verb: "delete", group: "admissionregistration.k8s.io", resource: "validatingadmissionpolicies", namespace: "" })],
      ["is labelling a namespace", rule({}), resourceRequest({ verb: "patch", resource: "namespaces", name: "ns" })],
      ["is reaching a kubelet", rule({}), resourceRequest({ resource: "nodes", subresource: "proxy", namespace: "" })],
      ["is standing in for the API server", rule({}), resourceRequest({ verb: "create", group: "apiregistration.k8s.io", resource: "apiservices", namespace: "", name: "" })],
    ],
  ],
])("%s", (_, allowing, denying) => {
  test.each(allowing)("%s", (_name, scope, request) => expect(isAllowed(scope, request)).toBe(true));
  test.each(denying)("%s", (_name, scope, request) => expect(isAllowed(scope, request)).toBe(false));
});

test.each<[ScopedRequest, string]>([
  [resourceRequest({ subresource: "log" }), "get pods/log p in namespace ns: nothing in the scope covers it"],
  [resourceRequest({ group: "apps", resource: "deployments", name: "", verb: "list", namespace: "" }), "list deployments.apps: nothing in the scope covers it"],
  [pathRequest("/metrics"), "get /metrics: nothing in the scope covers it"],
  [resourceRequest({ verb: "patch", resource: "namespaces", namespace: "" }), "patch namespaces p: it could reach beyond the scope, and no rule of the scope names this very resource"],
])("a refusal says what was refused, and why", (request, expected) => {
  expect(allows(parseScopeLimit({}), request, roles)).toEqual({ kind: "denied", reason: `the scope of this credential does not allow ${expected}` });
});

test("a scope that cannot be read says so", () => {
  expect(allows("unreadable", pod, roles)).toEqual({ kind: "denied", reason: "the scope of this credential does not allow get pods p in namespace ns: its scope cannot be read" });
});
