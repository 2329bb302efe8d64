import { type KeyedAnswer, type KeyedRequest, selfReview } from "./ways-in.ts";

/** Namespaces: two in the project of their name, and one in no project. */
export interface ScopedNames {
  readonly web: string;
  readonly pay: string;
  readonly other: string;
}

/** Requests that differ in all that a scope can distinguish; dry runs change nothing. */
export function scopedRequests({ web, pay, other }: ScopedNames): readonly KeyedRequest[] {
  return [
    { path: `/api/v1/namespaces/${web}/configmaps` },
    { path: `/api/v1/namespaces/${web}/configmaps/one` },
    { path: `/api/v1/namespaces/${web}/configmaps?fieldSelector=metadata.name%3Done` },
    { path: `/api/v1/namespaces/${other}/configmaps` },
    { path: `/api/v1/namespaces/${pay}/configmaps` },
    { path: "/api/v1/configmaps" },
    { path: `/api/v1/namespaces/${web}/pods/none/log` },
    { path: `/api/v1/namespaces/${web}/pods/none` },
    { path: `/api/v1/namespaces/${web}/secrets` },
    { path: "/api/v1/secrets" },
    { path: "/api/v1/namespaces/latchkey-system/secrets" },
    { path: "/api/v1/namespaces/kube-system/configmaps" },
    { path: "/api/v1/nodes" },
    { path: "/api/v1/namespaces" },
    { path: `/api/v1/namespaces/${web}` },
    { path: `/api/v1/namespaces/${pay}` },
    { path: `/apis/apps/v1/namespaces/${web}/deployments` },
    { path: `/apis/apps/v1/namespaces/${web}/deployments/none/scale` },
    { path: "/apis/management.service/v1/ownedaccesskeys" },
    { path: `/apis/management.service/v1/namespaces/${web}/sharedsecrets` },
    { path: `/apis/management.service/v1/namespaces/${pay}/sharedsecrets` },
    { path: "/apis/rbac.authorization.k8s.io/v1/clusterroles" },
    { path: "/apis/nothing.example.com/v1/things" },
    { path: "/metrics" },
    { path: "/version" },
    { path: "/apis" },
    selfReview,
    {
      method: "POST",
      path: `/api/v1/namespaces/${web}/configmaps?dryRun=All`,
      body: { metadata: { generateName: "new-" } },
    },
    {
      method: "DELETE",
      path: `/api/v1/namespaces/${web}/configmaps/one?dryRun=All`,
    },
    {
      method: "POST",
      path: `/api/v1/namespaces/${web}/serviceaccounts/default/token?dryRun=All`,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    },
  ];
}

/** The objects that {@link scopedRequests} and {@link scopeRows} name, as requests in order. */
export function scopedObjects({ web, pay, other }: ScopedNames) {
  const labelsOf = (project: string) => ({
    "management.service/project": project,
    "management.service/space": "dev",
    "management.service/virtual-cluster": "v1",
  });
  const namespaces = { method: "POST", path: "/api/v1/namespaces" } as const;
  return [
    { ...namespaces, body: { metadata: { name: web, labels: labelsOf(web) } } },
    { ...namespaces, body: { metadata: { name: pay, labels: labelsOf(pay) } } },
    { ...namespaces, body: { metadata: { name: other } } },
    {
      method: "POST",
      path: `/api/v1/namespaces/${web}/configmaps`,
      body: { metadata: { name: "one" } },
    },
    {
      method: "POST",
      path: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
      body: {
        metadata: { name: web, labels: { "management.service/scope-role": web } },
        rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }],
      },
    },
  ] as const;
}

const onCore = (...resources: string[]) => [{ group: "", resources }];

/** Every field of a scope; `web` is a namespace, a project and a role. */
export function scopeRows(web: string): readonly (readonly [string, object | undefined])[] {
  return [
    ["no scope", undefined],
    ["an empty scope", {}],
    ["a project", { projects: [{ project: web }] }],
    ["all projects", { projects: [{ project: "*" }] }],
    ["a space", { spaces: [{ project: web, space: "dev" }] }],
    ["a virtual cluster", { virtualClusters: [{ project: web, virtualCluster: "v1" }] }],
    ["another space", { spaces: [{ project: web, space: "prod" }] }],
    ["all clusters", { clusters: [{ cluster: "*" }] }],
    ["a space of all projects", { spaces: [{ project: "*", space: "dev" }] }],
    ["another virtual cluster", { virtualClusters: [{ project: web, virtualCluster: "v2" }] }],
    ["the role of the command line", { roles: [{ role: "serviceCLI" }] }],
    ["a role in a project", { roles: [{ role: "serviceCLI", projects: [web] }] }],
    [
      "a role in a virtual cluster",
      { roles: [{ role: "serviceCLI", projects: [web], virtualClusters: ["v1"] }] },
    ],
    ["a ClusterRole", { roles: [{ role: web }] }],
    ["a ClusterRole in a project", { roles: [{ role: web, projects: [web] }] }],
    ["a ClusterRole in another project", { roles: [{ role: web, projects: ["other"] }] }],
    ["a role in another project", { roles: [{ role: "serviceCLI", projects: ["other"] }] }],
    ["allowServiceCli", { allowServiceCli: true }],
    ["a role that does not exist", { roles: [{ role: "nothing" }] }],
    ["a rule for everything", { rules: [{}] }],
    ["a rule with verbs", { rules: [{ verbs: ["get", "list"] }] }],
    ["a rule with a resource", { rules: [{ resources: onCore("configmaps") }] }],
    ["a rule with a subresource", { rules: [{ resources: onCore("pods/log") }] }],
    [
      "a rule with a name",
      { rules: [{ resources: onCore("configmaps"), resourceNames: ["one"] }] },
    ],
    ["a rule with a namespace", { rules: [{ namespaces: [web] }] }],
    ["a rule with no namespace", { rules: [{ namespaces: [""] }] }],
    ["a rule with paths", { rules: [{ nonResourceURLs: ["/metrics"] }] }],
    ["a rule with the target Management", { rules: [{ requestTargets: ["Management"] }] }],
    ["a rule with the target Cluster", { rules: [{ requestTargets: ["Cluster"] }] }],
    [
      "a rule for virtual clusters",
      { rules: [{ virtualClusters: [{ name: "v1", namespace: "" }] }] },
    ],
    [
      "a rule for the namespace of a virtual cluster",
      { rules: [{ virtualClusters: [{ name: "", namespace: "vc-v1" }] }] },
    ],
    ["a rule that names secrets", { rules: [{ resources: onCore("secrets"), namespaces: [web] }] }],
  ];
}

/**
 * The rows that cover the first request, which lists ConfigMaps of a namespace in a project, where
 * labels of namespaces say where a request is.
 */
export const coversByLabel: ReadonlySet<string> = new Set([
  ...["no scope", "a project", "all projects", "a space", "a space of all projects"],
  ...["a virtual cluster", "a rule for everything", "a rule with verbs", "a rule with a resource"],
  ...["a ClusterRole", "a ClusterRole in a project"],
  "a rule with a namespace",
]);

/** The rows that cover it in the virtual cluster `v1` of the project, whose namespace is `vc-v1`. */
export const coversByPath: ReadonlySet<string> = new Set([
  ...["no scope", "a project", "all projects", "a virtual cluster"],
  ...["a ClusterRole", "a ClusterRole in a project"],
  ...["a rule for everything", "a rule with verbs", "a rule with a resource"],
  ...["a rule with a namespace", "a rule for virtual clusters"],
  "a rule for the namespace of a virtual cluster",
]);

/** What is the same at every way in: kube-apiserver words the refusal of its authorizer itself. */
export function comparable({ code, reason, message }: KeyedAnswer) {
  return { code, reason, isScope: message.includes("the scope of this credential") };
}
