import { annotations } from "../../src/api/names.ts";

const scope = {
  allowServiceCli: true,
  projects: [{ project: "web" }, { project: "pay" }],
  roles: [{ role: "viewer", projects: ["web"] }],
};

/** The spec of a stored key, without its key and whom it acts as. */
export const storedTerms = { ttl: 3600, ttlAfterLastActivity: true, scope };

const another = `sha256:${"b".repeat(16)}.${"b".repeat(64)}`;
const gone = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "gone",
  uid: "00000000-0000-0000-0000-000000000000",
};

/** A change: what it is, the spec before, and the merge patch. */
export type KeyChange = readonly [what: string, before: object, patch: object];

/** What a request with a key may change of a key. */
export const restricting: readonly KeyChange[] = [
  ["nothing", {}, {}],
  ["its name", {}, { spec: { displayName: "mine" } }],
  ["its description", {}, { spec: { description: "of the pipeline" } }],
  ["its type", {}, { spec: { type: "System" } }],
  ["disabled, to true", {}, { spec: { disabled: true } }],
  ["its ttl to a shorter one", {}, { spec: { ttl: 60 } }],
  [
    "its ttl, which it does not have",
    { ttl: 0, ttlAfterLastActivity: false },
    { spec: { ttl: 60 } },
  ],
  ["how its ttl counts, to a fixed end", {}, { spec: { ttlAfterLastActivity: false } }],
  ["its scope, which it does not have", { scope: undefined }, { spec: { scope } }],
  ["its scope to fewer entries", {}, { spec: { scope: { projects: [{ project: "pay" }] } } }],
  ["its scope to no entries", {}, { spec: { scope: { projects: [], roles: null } } }],
  ["allowServiceCli to false", {}, { spec: { scope: { allowServiceCli: false } } }],
  ["a label", {}, { metadata: { labels: { a: "b", "example.com/a": "b" } } }],
  ["an annotation", {}, { metadata: { annotations: { "notkubernetes.io/a": "b" } } }],
];

const label = (name: string) => ({ metadata: { labels: { [name]: "b" } } });
/** A merge patch that sets an annotation. */
export const annotation = (name: string) => ({ metadata: { annotations: { [name]: "b" } } });

/** What it may not, by the field that the refusal names. */
export const widening: readonly KeyChange[] = [
  ["spec.key", {}, { spec: { key: another } }],
  ["spec.user", {}, { spec: { user: null, subject: "root" } }],
  ["spec.subject", {}, { spec: { user: null, subject: "root" } }],
  ["spec.team", {}, { spec: { user: null, team: "ops" } }],
  ["spec.groups", {}, { spec: { groups: ["system:authenticated"] } }],
  ["spec.identity", {}, { spec: { identity: { email: "eve@example.com" } } }],
  ["spec.parent", {}, { spec: { parent: "other" } }],
  ["spec.oidcProvider", {}, { spec: { oidcProvider: { clientId: "a" } } }],
  ["spec.disabled", { disabled: true }, { spec: { disabled: false } }],
  ["spec.disabled", { disabled: true }, { spec: { disabled: null, displayName: "mine" } }],
  ["spec.ttl", {}, { spec: { ttl: 3601 } }],
  ["spec.ttl", {}, { spec: { ttl: null } }],
  ["spec.ttl", { ttlAfterLastActivity: false }, { spec: { ttlAfterLastActivity: true } }],
  ["spec.scope", {}, { spec: { scope: null } }],
  ["spec.scope", {}, { spec: { scope: { projects: [{ project: "*" }] } } }],
  ["spec.scope", {}, { spec: { scope: { projects: [{ project: "web" }, { project: "dev" }] } } }],
  ["spec.scope", {}, { spec: { scope: { roles: [{ role: "viewer" }] } } }],
  ["spec.scope", {}, { spec: { scope: { spaces: [{ project: "web", space: "a" }] } } }],
  ["spec.scope", { scope: {} }, { spec: { scope: { allowServiceCli: true } } }],
  ["metadata.finalizers", {}, { metadata: { finalizers: ["a.example/b"] } }],
  ["metadata.ownerReferences", {}, { metadata: { ownerReferences: [gone] } }],
  [`metadata.annotations[${annotations.connectorData}]`, {}, annotation(annotations.connectorData)],
  ["metadata.annotations[management.service/a]", {}, annotation("management.service/a")],
  ["metadata.labels[a.management.service/a]", {}, label("a.management.service/a")],
  ["metadata.labels[app.kubernetes.io/instance]", {}, label("app.kubernetes.io/instance")],
  ["metadata.annotations[k8s.io/a]", {}, annotation("k8s.io/a")],
  ["metadata.annotations[helm.sh/resource-policy]", {}, annotation("helm.sh/resource-policy")],
  ["metadata.annotations[meta.helm.sh/release-name]", {}, annotation("meta.helm.sh/release-name")],
  [
    "metadata.labels[kustomize.toolkit.fluxcd.io/prune]",
    {},
    label("kustomize.toolkit.fluxcd.io/prune"),
  ],
  [
    "metadata.annotations[argocd.argoproj.io/sync-options]",
    {},
    annotation("argocd.argoproj.io/sync-options"),
  ],
];
