import { beforeAll, describe, expect, inject, it } from "vitest";
import { labels } from "../../src/api/names.ts";
import { eventually } from "../support/eventually.ts";
import { askWith, kubectlWith, makeKey, worksAs } from "../support/key-request.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { arrange, ask, bind, unique } from "../support/policy-request.ts";
import type { Answer, Ask } from "../support/cluster-connection.ts";

type Scope = Readonly<Record<string, unknown>>;

/** May do everything, so that every refusal is the scope's. */
const root = unique("root");
const [web, pay] = [unique("web"), unique("pay")];
const management = "/apis/management.service/v1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const get = (path: string): Ask => ({ method: "GET", path });
const create = (path: string, body: object): Ask => ({
  method: "POST",
  path: `${path}?dryRun=All`,
  body,
});
const listIn = (namespace: string, plural = "secrets"): Ask =>
  get(`/api/v1/namespaces/${namespace}/${plural}`);

const named = (group: string, ...resources: readonly string[]) => ({
  resources: [{ group, resources }],
});
const pod = {
  metadata: { name: "x" },
  spec: { serviceAccountName: "latchkey-controller", containers: [{ name: "x", image: "x" }] },
};

/** What a key with this scope is answered. */
async function within(scope: Scope | undefined, request: Ask): Promise<Answer> {
  const key = await makeKey({ spec: { user: root, ...(scope === undefined ? {} : { scope }) } });
  await worksAs(key);
  return askWith(key.key, request);
}

async function makeKeyWithId(): Promise<{ readonly id: string }> {
  const key = await makeKey({ spec: { user: root, scope: { rules: [{}] } } });
  const { extra } = await worksAs(key);
  return { id: extra?.["management.service/key-id"]?.[0] ?? "" };
}

const refused = {
  code: 403,
  message: expect.stringContaining("the scope of this credential does not allow"),
};

describe.skipIf(inject("webhook") === undefined)("a key with a scope", () => {
  beforeAll(async () => {
    await bind({ kind: "User", name: root }, "cluster-admin");
    const namespace = (name: string, more: object = {}) =>
      arrange({
        method: "POST",
        path: "/api/v1/namespaces",
        body: { metadata: { name, labels: { [labels.project]: name, ...more } } },
      });
    await Promise.all([namespace(web), namespace(pay, { [labels.space]: "lab" })]);
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }];
    await arrange({
      method: "POST",
      path: `${rbac}/clusterroles`,
      body: {
        metadata: { name: unique("bundle"), labels: { [labels.scopeRole]: "configuration" } },
        rules,
      },
    });
    // The webhook learns of all this by its watches.
    await eventually(
      async () =>
        (
          await within(
            { spaces: [{ project: pay, space: "lab" }], roles: [{ role: "configuration" }] },
            listIn("default", "configmaps"),
          )
        ).code === 200,
      { what: "labels and roles to be known" },
    );
  });

  it.each<[string, Scope | undefined, Ask]>([
    ["has all that its user has without one", undefined, listIn(pay)],
    ["reaches its project", { projects: [{ project: web }] }, listIn(web)],
    ["reaches its space", { spaces: [{ project: pay, space: "lab" }] }, listIn(pay)],
    [
      "reaches what a bundle permits",
      { roles: [{ role: "configuration" }] },
      listIn(pay, "configmaps"),
    ],
    [
      "reaches what a rule names",
      {
        rules: [
          {
            verbs: ["list"],
            resources: [{ group: "", resources: ["secrets"] }],
            namespaces: [pay],
          },
        ],
      },
      listIn(pay),
    ],
    ["reads what the API is", {}, get("/apis")],
    [
      "reads SharedSecrets for the command-line client",
      { allowServiceCli: true },
      get(`${management}/namespaces/${web}/sharedsecrets`),
    ],
    ["lists what is in no namespace", { rules: [{ namespaces: [""] }] }, get("/api/v1/nodes")],
    [
      "reads a namespace, which is in none",
      { rules: [{ namespaces: [""] }] },
      get(`/api/v1/namespaces/${web}`),
    ],
    ["lists all but Secrets over all namespaces", { rules: [{}] }, get("/api/v1/configmaps")],
    [
      "reaches a guarded namespace by a rule that names it and the resource",
      {
        rules: [
          { resources: [{ group: "", resources: ["configmaps"] }], namespaces: ["kube-system"] },
        ],
      },
      listIn("kube-system", "configmaps"),
    ],
  ])("%s", async (_rule, scope, request) => {
    expect(await within(scope, request)).toMatchObject({ code: 200 });
  });

  it.each<[string, Scope, Ask]>([
    ["reaches nothing when it is empty", {}, listIn(web)],
    ["reaches no other project", { projects: [{ project: web }] }, listIn(pay)],
    ["reaches no namespace without a project", { projects: [{ project: "*" }] }, listIn("default")],
    [
      "reaches nothing of the whole cluster by a project",
      { projects: [{ project: "*" }] },
      get("/api/v1/secrets"),
    ],
    ["reaches no other space", { spaces: [{ project: pay, space: "office" }] }, listIn(pay)],
    ["reaches no more than a bundle permits", { roles: [{ role: "configuration" }] }, listIn(pay)],
    [
      "reaches nothing by a bundle that nobody knows",
      { roles: [{ role: unique("none") }] },
      listIn(pay, "configmaps"),
    ],
    [
      "reaches nothing by a role that is no bundle",
      { roles: [{ role: "cluster-admin" }] },
      listIn(pay),
    ],
    [
      "reaches no other verb than a rule names",
      { rules: [{ verbs: ["get"], resources: [{ group: "", resources: ["secrets"] }] }] },
      listIn(pay),
    ],
    [
      "reaches no connected cluster's things by its name",
      { clusters: [{ cluster: "*" }] },
      listIn(pay),
    ],
    [
      "reads no other key",
      { projects: [{ project: "*" }], rules: [{}] },
      get(`${management}/ownedaccesskeys`),
    ],
    [
      "changes no namespace",
      { projects: [{ project: web }] },
      {
        method: "PATCH",
        path: `/api/v1/namespaces/${web}?dryRun=All`,
        type: "application/merge-patch+json",
        body: { metadata: { labels: { [labels.project]: pay } } },
      },
    ],
    [
      "makes no token of a service account",
      { projects: [{ project: web }] },
      create(`/api/v1/namespaces/${web}/serviceaccounts/default/token`, { spec: {} }),
    ],
    [
      "makes no binding",
      { projects: [{ project: web }] },
      create(`${rbac}/namespaces/${web}/rolebindings`, {
        metadata: { name: "x" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin" },
      }),
    ],
    [
      "makes no policy",
      { rules: [{}] },
      create("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", {
        metadata: { name: "x" },
        spec: {},
      }),
    ],
    [
      "lists no Secrets of all namespaces by those that are in none",
      { rules: [{ namespaces: [""] }] },
      get("/api/v1/secrets"),
    ],
    [
      "lists nothing of all namespaces by what is in none",
      { rules: [{ namespaces: [""] }] },
      get("/api/v1/configmaps"),
    ],
    ["reads no Secrets by a rule that does not name them", { rules: [{}] }, listIn(pay)],
    [
      "reads no Secrets by wildcards",
      { rules: [{ resources: [{ group: "", resources: ["*"] }] }] },
      listIn(pay),
    ],
    [
      "lists no Secrets of all namespaces, though a rule names them",
      { rules: [named("", "secrets")] },
      get("/api/v1/secrets"),
    ],
    [
      "reads no signing keys, though a rule names Secrets",
      { rules: [named("", "secrets")] },
      get("/api/v1/namespaces/latchkey-system/secrets/latchkey-signing-keys"),
    ],
    [
      "runs no pod beside Latchkey",
      { rules: [{}] },
      create("/api/v1/namespaces/latchkey-system/pods", pod),
    ],
    [
      "runs no pod beside Latchkey, though a rule names pods",
      { rules: [named("", "pods")] },
      create("/api/v1/namespaces/latchkey-system/pods", pod),
    ],
    [
      "runs no pod in kube-system",
      { rules: [{}] },
      create("/api/v1/namespaces/kube-system/pods", pod),
    ],
    [
      "reads nothing of connected clusters",
      { rules: [named("", "secrets")] },
      listIn("latchkey-clusters"),
    ],
    [
      "changes no CRD",
      { rules: [{}] },
      {
        method: "PATCH",
        path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ownedaccesskeys.management.service?dryRun=All",
        type: "application/merge-patch+json",
        body: {},
      },
    ],
    ["reaches nothing that nobody serves", { rules: [{}] }, get("/apis/nowhere.example/v1/things")],
    [
      "reaches no group of the name of something that every object has",
      { rules: [{}] },
      get("/apis/constructor/v1/things"),
    ],
    [
      "reaches no group of the name of every object's prototype",
      { rules: [{}] },
      get("/apis/__proto__/v1/x"),
    ],
    [
      "signs no certificate",
      { rules: [{}] },
      create("/apis/certificates.k8s.io/v1/certificatesigningrequests", {
        metadata: { name: "x" },
        spec: {},
      }),
    ],
  ])("%s", async (_rule, scope, request) => {
    expect(await within(scope, request)).toMatchObject(refused);
  });

  it("covers a kind that the API server has just begun to serve", async () => {
    const group = `${unique("scope")}.example`;
    const names = { kind: "Thing", plural: "things", singular: "thing" };
    const schema = { openAPIV3Schema: { type: "object" } };
    const key = await makeKey({ spec: { user: root, scope: { rules: [named(group, "things")] } } });
    await worksAs(key);
    const path = `/apis/${group}/v1/things`;
    expect(await askWith(key.key, get(path))).toMatchObject(refused);
    await arrange({
      method: "POST",
      path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      body: {
        metadata: { name: `things.${group}` },
        spec: {
          group,
          scope: "Cluster",
          names,
          versions: [{ name: "v1", served: true, storage: true, schema }],
        },
      },
    });
    await eventually(async () => (await ask({}, get(path))).code === 200, {
      what: "the kind to be served",
    });
    await eventually(async () => (await askWith(key.key, get(path))).code === 200, {
      what: "the key to reach it",
    });
  });

  it("denies a SubjectAccessReview outside its scope, whatever API group it names", async () => {
    const { id } = await makeKeyWithId();
    for (const group of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const review = {
        spec: {
          user: root,
          extra: { "management.service/key-id": [id] },
          resourceAttributes: { verb: "create", group, resource: "things" },
        },
      };
      const { status } = await ask(
        {},
        {
          method: "POST",
          path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
          body: review,
        },
      );
      expect(status).toMatchObject({
        allowed: false,
        denied: true,
        reason: expect.stringContaining("the scope of this credential does not allow"),
      });
    }
  });

  it("impersonates no user, even if a rule allows everything", async () => {
    const key = await makeKey({ spec: { user: root, scope: { rules: [{}] } } });
    await worksAs(key);
    const { code, stderr } = await kubectlWith(key.key, ["get", "secrets", "--as=alice"]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/forbidden/i)]);
  });

  it("is created with a warning if its scope names what does not exist", async () => {
    const scope = {
      roles: [{ role: "nobody" }],
      rules: [named("", "pod"), { ...named("", "nodes"), namespaces: [web] }],
    };
    const input = JSON.stringify({
      apiVersion: "management.service/v1",
      kind: "OwnedAccessKey",
      metadata: { name: unique("warned") },
      spec: { user: root, key: "0123456789abcdef", scope },
    });
    const { code, stderr } = await tryKubectl(
      inject("controlPlane"),
      ["create", "--dry-run=server", "-f", "-"],
      { input },
    );
    expect(code).toBe(0);
    for (const warning of [
      'spec.scope.roles: "nobody" does not exist',
      'spec.scope.rules[0]: the API server does not serve "pod"',
      'spec.scope.rules[1]: "nodes" is not namespaced',
    ])
      expect(stderr).toContain(`Warning: ${warning}`);
  });

  it("gets the right answers from kubectl auth can-i", async () => {
    const key = await makeKey({ spec: { user: root, scope: { projects: [{ project: web }] } } });
    await worksAs(key);
    const answers = await Promise.all(
      [web, pay].map((namespace) =>
        kubectlWith(key.key, ["auth", "can-i", "list", "secrets", `--namespace=${namespace}`]),
      ),
    );
    expect(answers.map(({ stdout }) => stdout.trim().split(" ")[0])).toEqual(["yes", "no"]);
  });
});
