import { beforeAll, describe, expect, inject, it } from "vitest";
import { makeKey, worksAs } from "../support/key-request.ts";
import { arrange, bind, unique } from "../support/policy-request.ts";
import {
  askDirectly,
  askThroughGateway,
  gatewayKnows,
  type KeyedAnswer,
  type KeyedRequest,
  selfReview,
} from "../support/ways-in.ts";

const admins = unique("admins");
const [web, other] = [unique("web"), unique("other")];

/** Requests that differ in all that a scope can tell apart; dry runs change nothing. */
const requests: readonly KeyedRequest[] = [
  { path: `/api/v1/namespaces/${web}/configmaps` },
  { path: `/api/v1/namespaces/${web}/configmaps/one` },
  { path: `/api/v1/namespaces/${web}/configmaps?fieldSelector=metadata.name%3Done` },
  { path: `/api/v1/namespaces/${other}/configmaps` },
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
  { path: `/apis/apps/v1/namespaces/${web}/deployments` },
  { path: `/apis/apps/v1/namespaces/${web}/deployments/none/scale` },
  { path: "/apis/management.service/v1/ownedaccesskeys" },
  { path: `/apis/management.service/v1/namespaces/${web}/sharedsecrets` },
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

const onCore = (...resources: string[]) => [{ group: "", resources }];

/** Every field of a scope. */
const scopes: readonly (readonly [string, object | undefined])[] = [
  ["no scope", undefined],
  ["an empty scope", {}],
  ["a project", { projects: [{ project: web }] }],
  ["all projects", { projects: [{ project: "*" }] }],
  ["a space", { spaces: [{ project: web, space: "dev" }] }],
  ["a virtual cluster", { virtualClusters: [{ project: web, virtualCluster: "v1" }] }],
  ["another space", { spaces: [{ project: web, space: "prod" }] }],
  ["clusters, of which this is none", { clusters: [{ cluster: "*" }] }],
  ["the role of the command line", { roles: [{ role: "serviceCLI" }] }],
  ["allowServiceCli", { allowServiceCli: true }],
  ["a role that does not exist", { roles: [{ role: "nothing" }] }],
  ["a rule for everything", { rules: [{}] }],
  ["a rule with verbs", { rules: [{ verbs: ["get", "list"] }] }],
  ["a rule with a resource", { rules: [{ resources: onCore("configmaps") }] }],
  ["a rule with a subresource", { rules: [{ resources: onCore("pods/log") }] }],
  ["a rule with a name", { rules: [{ resources: onCore("configmaps"), resourceNames: ["one"] }] }],
  ["a rule with a namespace", { rules: [{ namespaces: [web] }] }],
  ["a rule with no namespace", { rules: [{ namespaces: [""] }] }],
  ["a rule with paths", { rules: [{ nonResourceURLs: ["/metrics"] }] }],
  ["a rule with this target", { rules: [{ requestTargets: ["Management"] }] }],
  ["a rule with another target", { rules: [{ requestTargets: ["Cluster"] }] }],
  ["a rule that names secrets", { rules: [{ resources: onCore("secrets"), namespaces: [web] }] }],
];

describe.skipIf(inject("webhook") === undefined)("through the gateway", () => {
  beforeAll(async () => {
    await bind({ kind: "Group", name: admins }, "cluster-admin");
    const labels = {
      "management.service/project": web,
      "management.service/space": "dev",
      "management.service/virtual-cluster": "v1",
    };
    await arrange({
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: web, labels } },
    });
    await arrange({
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: other } },
    });
    const configMap = { metadata: { name: "one" } };
    await arrange({
      method: "POST",
      path: `/api/v1/namespaces/${web}/configmaps`,
      body: configMap,
    });
  });

  /** kube-apiserver words the refusal of its authorizer in its own way. */
  const compared = ({ code, reason, message }: KeyedAnswer) => ({
    ...{ code, reason },
    isScope: message.includes("the scope of this credential"),
  });

  it.each(scopes)("a key with %s may do what it may do at kube-apiserver", async (_what, scope) => {
    const key = await makeKey({
      spec: { user: "alice", groups: [admins], ...(scope === undefined ? {} : { scope }) },
    });
    await worksAs(key);
    await gatewayKnows(key);
    const answers = [];
    for (const request of requests) {
      const [one, same] = [await askDirectly(key, request), await askThroughGateway(key, request)];
      answers.push([request.method ?? "GET", request.path, compared(one), compared(same)] as const);
    }
    expect(answers.map(([method, path, , via]) => [method, path, via])).toEqual(
      answers.map(([method, path, direct]) => [method, path, direct]),
    );
  });
});
