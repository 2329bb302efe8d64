import { annotations, apiVersion, labels, ownLabel } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { type Ask, type Caller, mergePatch, post } from "../support/cluster-connection.ts";
import { derivedRequests } from "../support/derived-requests.ts";
import {
  bindClusterRole,
  keysPath,
  postClusterRole,
  postKey,
  postNamespace,
  postToken,
} from "../support/latchkey-objects.ts";

const root: Caller = { user: "root", groups: ["system:masters"] };

/** Has the rights of a role, and none of the verbs that policies ask for. */
export const tenant: Caller = { user: "tenant", uid: "uid-of-tenant", groups: ["tenants"] };

const account = (name: string): Caller => ({
  user: `system:serviceaccount:latchkey-system:latchkey-${name}`,
  groups: ["system:masters"],
});
const tenants = [
  { apiGroups: [""], resources: ["namespaces", "configmaps"], verbs: ["create", "list"] },
  { apiGroups: ["management.service"], resources: ["*"], verbs: ["create", "patch"] },
];

const sharedPath = `/apis/${apiVersion}/namespaces/default/sharedsecrets`;
const postShared = (metadata: object): Ask =>
  post(sharedPath, { apiVersion, kind: "SharedSecret", metadata, spec: {} });
const mergeStored = (body: object): Ask => mergePatch(`${sharedPath}/stored`, body);
const noOwner = { apiVersion: "v1", kind: "ConfigMap", name: "none", uid: "none" };
const named = (name: string, annotation: string, value: string) => ({
  name,
  annotations: { [annotation]: value },
});
const scoped = (...resources: readonly (readonly string[])[]): Ask => {
  const rules = resources.map((each) => ({ resources: [{ group: "", resources: each }] }));
  return postKey("scoped", { user: "root", scope: { rules } });
};
const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
const nameOf = (body: unknown) => stringAt(recordAt(body, "metadata"), "name");
const foreign = { metadata: { name: "foreign" } };

/** What the requests below need: the rights of the tenant, and a SharedSecret and a key. */
export const groundsOfRefusals: readonly Ask[] = [
  postClusterRole("tenants", tenants),
  bindClusterRole("tenants", "tenants", [{ kind: "Group", name: "tenants" }]),
  postShared({ name: "stored" }),
  postNamespace({ name: "latchkey-cluster-stored", labels: ownLabel }),
  postKey("stored", { user: "alice" }),
];

/** A request of the tenant that no policy refuses. */
export const allowedRequest: Ask = mergeStored({ metadata: { labels: { a: "b" } } });

/** For each policy that denies, without its prefix, requests that it refuses. */
export const refusedRequests: readonly (readonly [policy: string, by: Caller, request: Ask])[] = [
  [
    "requester-lock",
    { ...root, extra: { "management.service/key-id": ["one", "two"] } },
    postToken("two-keys"),
  ],
  ["mint-guard", tenant, postKey("for-another", { user: "alice" })],
  ["status-lock", root, mergePatch(`${keysPath}/stored/status`, { status: { phase: "Active" } })],
  ...derivedRequests("default")
    // The generated name of an object is part of its refusal.
    .filter(({ deniedBy, body }) => deniedBy === "policy" && nameOf(body) !== undefined)
    .map(({ method = "GET", ...request }) => {
      const caller = { ...root, extra: { "management.service/credential-id": ["uid"] } };
      return ["derived-credentials", caller, { ...request, method }] as const;
    }),
  [
    "project-assignment",
    tenant,
    postNamespace({ name: "mine", labels: { [labels.project]: "web" } }),
  ],
  ["project-share", tenant, postShared(named("shared", annotations.syncToProjects, "web"))],
  ["cluster-share", tenant, postShared(named("shared", annotations.syncToClusters, "east"))],
  ["data-from", tenant, postShared(named("shared", annotations.dataFrom, "tls"))],
  ["outbox-namespace", tenant, postNamespace("latchkey-cluster-east")],
  ["outbox", tenant, post("/api/v1/namespaces/latchkey-cluster-stored/configmaps", foreign)],
  ["sync-from", root, postNamespace(named("mine", annotations.syncFrom, "!"))],
  [
    "access-change",
    tenant,
    mergeStored({ spec: { access: [{ users: ["tenant"], verbs: ["get"] }] } }),
  ],
  ["deletion-guard", tenant, mergeStored({ metadata: { ownerReferences: [noOwner] } })],
  ["scope-wildcards", root, scoped(["*", "pods"])],
  ["scope-bounds", root, scoped(...names(16).map(() => names(64)))],
  ["token-audience", root, postToken(named("nowhere", annotations.audienceCluster, "-"))],
  [
    "object-bounds",
    root,
    mergeStored({ spec: { access: names(3).map(() => ({ users: names(700), verbs: ["get"] })) } }),
  ],
  ["own-secrets", account("controller"), post("/api/v1/namespaces/default/secrets", foreign)],
  [
    "own-rbac",
    account("controller"),
    post("/apis/rbac.authorization.k8s.io/v1/clusterroles", foreign),
  ],
  [
    "own-webhook-configurations",
    account("webhook"),
    post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", foreign),
  ],
];
