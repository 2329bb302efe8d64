import { beforeAll, describe, expect, inject, it } from "vitest";
import { labels } from "../../src/api/names.ts";
import { askWith, kubectlWith, makeKey, worksAs } from "../support/key-request.ts";
import { tryKubectl } from "../support/kubectl.ts";
import { becomes } from "../support/becomes.ts";
import { api, as, admin, ask, bind, unique } from "../support/policy-request.ts";
import type { Answer, Ask } from "../support/cluster-connection.ts";

type Scope = Readonly<Record<string, unknown>>;

/** Has all permissions, so that every rejection is due to the scope. */
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

/** The response to a request with a key of this scope. */
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
      api.create("/api/v1/namespaces", {
        metadata: { name, labels: { [labels.project]: name, ...more } },
      });
    await Promise.all([namespace(web), namespace(pay, { [labels.space]: "lab" })]);
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }];
    await api.create(`${rbac}/clusterroles`, {
      metadata: { name: unique("bundle"), labels: { [labels.scopeRole]: "configuration" } },
      rules,
    });
    // The webhook receives these objects through its watches.
    await becomes(
      "labels and roles to be known",
      () =>
        within(
          { spaces: [{ project: pay, space: "lab" }], roles: [{ role: "configuration" }] },
          listIn("default", "configmaps"),
        ),
      { code: 200 },
    );
  });

  it.each<[string, Scope | undefined, Ask]>([
    ["has all permissions of its user without a scope", undefined, listIn(pay)],
    ["allows API discovery", {}, get("/apis")],
    [
      "allows reading a Namespace, which is cluster-scoped",
      { rules: [{ namespaces: [""] }] },
      get(`/api/v1/namespaces/${web}`),
    ],
  ])("%s", async (_rule, scope, request) => {
    expect(await within(scope, request)).toMatchObject({ code: 200 });
  });

  it.each<[string, Scope, Ask]>([
    ["denies everything if it is empty", {}, listIn(web)],
    [
      "denies cluster-wide lists by a project",
      { projects: [{ project: "*" }] },
      get("/api/v1/secrets"),
    ],
    [
      "denies what a scope role does not allow",
      { roles: [{ role: "configuration" }] },
      listIn(pay),
    ],
    [
      "denies an undefined scope role",
      { roles: [{ role: unique("none") }] },
      listIn(pay, "configmaps"),
    ],
    [
      "denies a ClusterRole that is not a scope role",
      { roles: [{ role: "cluster-admin" }] },
      listIn(pay),
    ],
    [
      "denies reading other keys",
      { projects: [{ project: "*" }], rules: [{}] },
      get(`${management}/ownedaccesskeys`),
    ],
    [
      "denies changing a namespace",
      { projects: [{ project: web }] },
      {
        method: "PATCH",
        path: `/api/v1/namespaces/${web}?dryRun=All`,
        type: "application/merge-patch+json",
        body: { metadata: { labels: { [labels.project]: pay } } },
      },
    ],
    [
      "denies creating a service account token",
      { projects: [{ project: web }] },
      create(`/api/v1/namespaces/${web}/serviceaccounts/default/token`, { spec: {} }),
    ],
    [
      "denies creating a RoleBinding",
      { projects: [{ project: web }] },
      create(`${rbac}/namespaces/${web}/rolebindings`, {
        metadata: { name: "x" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin" },
      }),
    ],
    [
      "denies creating an admission policy",
      { rules: [{}] },
      create("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", {
        metadata: { name: "x" },
        spec: {},
      }),
    ],
    [
      'denies listing Secrets of all namespaces with namespaces [""]',
      { rules: [{ namespaces: [""] }] },
      get("/api/v1/secrets"),
    ],
    [
      "denies listing Secrets of all namespaces, even if a rule lists Secrets",
      { rules: [named("", "secrets")] },
      get("/api/v1/secrets"),
    ],
    [
      "denies the signing keys, even if a rule lists Secrets",
      { rules: [named("", "secrets")] },
      get("/api/v1/namespaces/latchkey-system/secrets/latchkey-signing-keys"),
    ],
    [
      "denies creating a pod in Latchkey's namespace",
      { rules: [{}] },
      create("/api/v1/namespaces/latchkey-system/pods", pod),
    ],
    [
      "denies creating a pod in Latchkey's namespace, even if a rule lists pods",
      { rules: [named("", "pods")] },
      create("/api/v1/namespaces/latchkey-system/pods", pod),
    ],
    [
      "denies creating a pod in kube-system",
      { rules: [{}] },
      create("/api/v1/namespaces/kube-system/pods", pod),
    ],
    [
      "denies the Secrets of connected clusters",
      { rules: [named("", "secrets")] },
      listIn("latchkey-clusters"),
    ],
    [
      "denies the outbox of a connected cluster",
      { rules: [named("", "secrets")] },
      listIn("latchkey-cluster-east"),
    ],
    [
      "denies to watch the outboxes among the Secrets of all namespaces",
      { rules: [named("", "secrets")] },
      get("/api/v1/secrets?watch=1&timeoutSeconds=1&labelSelector=management.service%2Foutbox-uid"),
    ],
    [
      "denies a token of an account of Latchkey",
      { rules: [named("", "serviceaccounts/token")] },
      create("/api/v1/namespaces/latchkey-system/serviceaccounts/latchkey-controller/token", {}),
    ],
    [
      "denies a command in a pod of Latchkey",
      { rules: [named("", "pods/exec")] },
      create("/api/v1/namespaces/latchkey-system/pods/x/exec", {}),
    ],
    [
      "denies changing a CRD",
      { rules: [{}] },
      {
        method: "PATCH",
        path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ownedaccesskeys.management.service?dryRun=All",
        type: "application/merge-patch+json",
        body: {},
      },
    ],
    [
      "denies a resource that the API server does not serve",
      { rules: [{}] },
      get("/apis/nowhere.example/v1/things"),
    ],
    [
      "denies a group with the name of a property of every object",
      { rules: [{}] },
      get("/apis/constructor/v1/things"),
    ],
    [
      "denies a group with the name of the prototype of every object",
      { rules: [{}] },
      get("/apis/__proto__/v1/x"),
    ],
    [
      "denies creating a certificate signing request",
      { rules: [{}] },
      create("/apis/certificates.k8s.io/v1/certificatesigningrequests", {
        metadata: { name: "x" },
        spec: {},
      }),
    ],
  ])("%s", async (_rule, scope, request) => {
    expect(await within(scope, request)).toMatchObject(refused);
  });

  it("covers a new kind of the API server", async () => {
    const group = `${unique("scope")}.example`;
    const names = { kind: "Thing", plural: "things", singular: "thing" };
    const schema = { openAPIV3Schema: { type: "object" } };
    const key = await makeKey({ spec: { user: root, scope: { rules: [named(group, "things")] } } });
    await worksAs(key);
    const path = `/apis/${group}/v1/things`;
    expect(await askWith(key.key, get(path))).toMatchObject(refused);
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: `things.${group}` },
      spec: {
        group,
        scope: "Cluster",
        names,
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    });
    await becomes("the kind to be served", () => ask({}, get(path)), { code: 200 });
    await becomes("the key to reach it", () => askWith(key.key, get(path)), { code: 200 });
  });

  it("denies a SubjectAccessReview outside of its scope, regardless of the API group", async () => {
    const { id } = await makeKeyWithId();
    for (const group of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const review = {
        spec: {
          user: root,
          extra: { "management.service/key-id": [id] },
          resourceAttributes: { verb: "create", group, resource: "things" },
        },
      };
      const { status } = await as(admin).create(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        review,
      );
      expect(status).toMatchObject({
        allowed: false,
        denied: true,
        reason: expect.stringContaining("the scope of this credential does not allow"),
      });
    }
  });

  it("denies impersonation, even if a rule allows everything", async () => {
    const key = await makeKey({ spec: { user: root, scope: { rules: [{}] } } });
    await worksAs(key);
    const { code, stderr } = await kubectlWith(key.key, ["get", "secrets", "--as=alice"]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/forbidden/i)]);
  });

  it("causes a warning on create if it refers to something that does not exist", async () => {
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
