import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { accountKubeconfig, type ServiceAccountLogin } from "../support/account-login.ts";
import { eventually } from "../support/eventually.ts";
import {
  applyDirectAuthorizerRbac,
  applyDirectEndpointRbac,
  applyGatewayRbac,
  repository,
} from "../support/install.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import {
  arrange,
  ask,
  bind,
  latchkeyAccount,
  makeNamespace,
  unique,
  type Caller,
} from "../support/policy-request.ts";

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  verbs: string[];
}

interface Manifest {
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  rules?: Rule[];
  subjects?: { name: string }[];
  spec?: { template?: { spec: object } };
}

function manifests(directory: string): Manifest[] {
  const folder = new URL(`../../config/${directory}/`, import.meta.url);
  const files = readdirSync(folder).filter((file) => file !== "kustomization.yaml");
  return files.flatMap((file) => {
    const documents: Manifest[] = JSON.parse(
      JSON.stringify(loadAll(readFileSync(new URL(file, folder), "utf8"))),
    );
    return documents;
  });
}

const shipped = manifests("rbac");
const ofGateway = [...manifests("gateway"), ...manifests("gateway-impersonation")];
const ofDirectEndpoint = manifests("direct-endpoint");
const ofDirectAuthorizer = manifests("direct-authorizer");
const isRole = ({ kind }: Manifest): boolean => kind === "Role" || kind === "ClusterRole";
const roles = shipped.filter(isRole);
/** The roles that let a process act as the user of a key or token, in any request. */
const impersonation = ["latchkey-gateway-impersonation", "latchkey-direct-endpoint-impersonation"];
const management = "management.service";
const rbacGroup = "rbac.authorization.k8s.io";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

function isNarrow({ metadata }: Manifest): boolean {
  return !impersonation.includes(metadata.name);
}

interface Access {
  verb: string;
  group?: string;
  resource: string;
  subresource?: string;
  name?: string;
  namespace?: string;
}

async function may({ user, groups }: Caller, resourceAttributes: Access): Promise<unknown> {
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const { status } = await arrange({
    method: "POST",
    path,
    body: { spec: { user, groups, resourceAttributes } },
  });
  return status;
}

describe("the shipped roles", () => {
  it.each(
    [...shipped, ...ofGateway, ...ofDirectEndpoint, ...ofDirectAuthorizer]
      .filter(isRole)
      .filter(isNarrow),
  )(
    "$kind $metadata.name lists what it allows, and cannot grant permissions that it does not have",
    ({ rules = [] }) => {
      for (const { apiGroups = [], resources = [], verbs } of rules) {
        expect([...apiGroups, ...resources, ...verbs].filter((word) => word.includes("*"))).toEqual(
          [],
        );
        expect(verbs.filter((verb) => /^(escalate|bind|impersonate.*)$/.test(verb))).toEqual([]);
      }
    },
  );

  it("have wildcards only in impersonation, and grant nothing else there", () => {
    const wide = [...ofGateway, ...ofDirectEndpoint]
      .filter(isRole)
      .filter((role) => !isNarrow(role));
    expect(wide.map(({ metadata }) => metadata.name).toSorted()).toEqual(impersonation.toSorted());
    const verbs = wide.flatMap(({ rules = [] }) => rules.flatMap((rule) => rule.verbs));
    expect(
      verbs.filter((verb) => !/^impersonate(?:-on)?:user-info(?::[a-z]+)?$/.test(verb)),
    ).toEqual([]);
  });

  it("add SharedSecrets to the built-in admin, and nothing to edit and view", () => {
    const aggregated = roles.flatMap(({ metadata: { name, labels = {} } }) =>
      Object.keys(labels)
        .filter((label) => label.includes("aggregate-to"))
        .map((label) => `${name} ${label}`),
    );
    expect(aggregated).toEqual([
      "latchkey-sharedsecret-admin rbac.authorization.k8s.io/aggregate-to-admin",
    ]);
  });

  it.each([
    ["rbac", shipped, ["latchkey-controller", "latchkey-webhook"]],
    ["gateway", ofGateway, ["system:authenticated", "latchkey-gateway"]],
    ["direct-endpoint", ofDirectEndpoint, ["latchkey-direct-endpoint"]],
    ["direct-authorizer", ofDirectAuthorizer, ["latchkey-direct-authorizer"]],
  ])("of config/%s are bound to no other accounts", (_directory, found, accounts) => {
    const subjects = found.flatMap((manifest) => manifest.subjects ?? []).map(({ name }) => name);
    expect([...new Set(subjects)].toSorted()).toEqual(accounts.toSorted());
  });

  it("give every user nothing but the list of connected clusters", () => {
    const bindings = [...shipped, ...ofGateway].filter(({ subjects = [] }) =>
      subjects.some(({ name }) => name.startsWith("system:")),
    );
    const names = bindings.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(names).toEqual(["RoleBinding latchkey-cluster-list-reader"]);
    const role = ofGateway
      .filter(isRole)
      .find(({ metadata }) => metadata.name === "latchkey-cluster-list-reader");
    expect(role?.rules).toEqual([
      {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["latchkey-clusters"],
        verbs: ["get", "list", "watch"],
      },
    ]);
  });
});

describe("latchkey-requester", () => {
  const asker: Caller = { user: unique("asker") };
  beforeAll(() => bind({ kind: "User", name: asker.user ?? "" }, "latchkey-requester"));

  describe.each(["ownedaccesskeys", "directclusterendpointtokens"])("on %s", (resource) => {
    it.each(["get", "list", "watch", "update", "patch", "delete", "deletecollection"])(
      "does not allow %s",
      async (verb) => {
        expect(await may(asker, { verb, group: management, resource })).toMatchObject({
          allowed: false,
        });
      },
    );
    it("allows create", async () => {
      expect(await may(asker, { verb: "create", group: management, resource })).toMatchObject({
        allowed: true,
      });
    });
  });
});

describe("the controller's account", () => {
  const controller = latchkeyAccount("latchkey-controller");
  const lease = {
    group: "coordination.k8s.io",
    resource: "leases",
    namespace: "latchkey-system",
    name: "latchkey-controller",
  };
  const crd = { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" };

  const allowed: Access[] = [
    { verb: "watch", group: management, resource: "sharedsecrets" },
    {
      verb: "patch",
      group: management,
      resource: "directclusterendpointtokens",
      subresource: "status",
    },
    { verb: "create", resource: "secrets", namespace: "default" },
    { verb: "update", ...lease },
    { verb: "create", group: "events.k8s.io", resource: "events", namespace: "default" },
  ];
  it.each(allowed)("may $verb $resource", async (access) => {
    expect(await may(controller, access)).toMatchObject({ allowed: true });
  });

  const refused: Access[] = [
    { verb: "create", group: management, resource: "sharedsecrets", namespace: "default" },
    { verb: "create", group: management, resource: "ownedaccesskeys" },
    { verb: "assign", group: management, resource: "projects", name: "web" },
    { verb: "deletecollection", resource: "secrets", namespace: "default" },
    { verb: "update", resource: "namespaces" },
    { verb: "update", ...lease, namespace: "kube-system" },
    { verb: "delete", ...lease },
    { verb: "get", ...crd, name: "sharedsecrets.management.service" },
    {
      verb: "update",
      group: "admissionregistration.k8s.io",
      resource: "validatingadmissionpolicies",
    },
    { verb: "list", resource: "pods" },
    { verb: "create", resource: "serviceaccounts", subresource: "token", namespace: "default" },
    { verb: "impersonate", resource: "users", name: "alice" },
  ];
  it.each(refused)("may not $verb $resource", async (access) => {
    expect(await may(controller, access)).toMatchObject({ allowed: false });
  });

  const sixVerbs = ["get", "list", "watch", "update", "patch", "delete"];
  const owned = { apiGroups: [management], resourceNames: ["mine"] };
  const role = {
    plural: "namespaces/default/roles",
    name: "latchkey-mine-0123456789abcdef",
    label: "management.service/source-uid",
  };
  const clusterRole = {
    plural: "clusterroles",
    name: `latchkey-requester-${"0".repeat(32)}-0`,
    label: "management.service/requester-hash",
  };
  const grants: { rule: string; as?: typeof role; rules: Rule[]; code: number }[] = [
    {
      rule: "the six verbs on a SharedSecret and its status",
      as: role,
      rules: [{ ...owned, resources: ["sharedsecrets", "sharedsecrets/status"], verbs: sixVerbs }],
      code: 201,
    },
    {
      rule: "get, watch and delete on keys and tokens",
      rules: [
        {
          ...owned,
          resources: ["ownedaccesskeys", "directclusterendpointtokens"],
          verbs: ["get", "watch", "delete"],
        },
      ],
      code: 201,
    },
    {
      rule: "every verb on a SharedSecret",
      as: role,
      rules: [{ ...owned, resources: ["sharedsecrets"], verbs: ["*"] }],
      code: 403,
    },
    {
      rule: "create on SharedSecrets",
      as: role,
      rules: [{ ...owned, resources: ["sharedsecrets"], verbs: ["create"] }],
      code: 403,
    },
    {
      rule: "get on pods",
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
      code: 403,
    },
  ];
  it.each(grants)(
    "grants $rule: $code",
    async ({ rules, code, as: { plural, name, label } = clusterRole }) => {
      const body = { metadata: { name, labels: { [label]: "1" } }, rules };
      const answer = await ask(controller, {
        method: "POST",
        path: `${rbac}/${plural}?dryRun=All`,
        body,
      });
      expect(answer).toMatchObject({ code });
    },
  );
});

describe("the account latchkey-gateway", () => {
  const gateway = latchkeyAccount("latchkey-gateway");
  const secret = { resource: "secrets", namespace: "latchkey-system" };
  const keys = { group: management, resource: "ownedaccesskeys" };
  const user = { resource: "users", name: "alice" };
  const configMap = {
    resource: "configmaps",
    namespace: "latchkey-system",
    name: "latchkey-clusters",
  };

  let login: ServiceAccountLogin;
  /** Before Kubernetes 1.36 the account has plain `impersonate`. */
  let isConstrained: boolean;

  beforeAll(async () => {
    const controlPlane = inject("controlPlane");
    await applyGatewayRbac(controlPlane);
    const { directory } = controlPlane;
    login = await accountKubeconfig(controlPlane, { directory, account: "latchkey-gateway" });
    const plain = await may(gateway, { ...user, verb: "impersonate" });
    isConstrained = !JSON.stringify(plain).includes('"allowed":true');
  });
  afterAll(() => login.close());

  it.each<[string, Access]>([
    ["read access keys", { ...keys, verb: "list" }],
    ["write their last use", { ...keys, verb: "patch", subresource: "status" }],
    ["keep its certificates", { ...secret, verb: "update", name: "latchkey-gateway-certificates" }],
    ["write the list of connected clusters", { ...configMap, verb: "patch" }],
    [
      "record Events about access keys",
      { verb: "create", group: "events.k8s.io", resource: "events", namespace: "default" },
    ],
  ])("may %s", async (_rule, access) => {
    expect(await may(gateway, access)).toMatchObject({ allowed: true });
  });

  it.each<[string, Access]>([
    ["read Secrets", { verb: "list", resource: "secrets" }],
    ["read the signing keys", { ...secret, verb: "get", name: "latchkey-signing-keys" }],
    [
      "read the certificates of the webhook",
      { ...secret, verb: "get", name: "latchkey-webhook-certificates" },
    ],
    ["read SharedSecrets", { verb: "list", group: management, resource: "sharedsecrets" }],
    [
      "read direct tokens",
      { verb: "get", group: management, resource: "directclusterendpointtokens" },
    ],
    ["change access keys", { ...keys, verb: "patch" }],
    ["create the list of connected clusters", { ...configMap, verb: "create" }],
    ["delete the list of connected clusters", { ...configMap, verb: "delete" }],
    ["write other ConfigMaps", { ...configMap, verb: "patch", name: "kube-root-ca.crt" }],
    ["read other ConfigMaps", { ...configMap, verb: "get", name: "kube-root-ca.crt" }],
    ["write roles", { verb: "create", group: "rbac.authorization.k8s.io", resource: "roles" }],
    [
      "act as a service account",
      { verb: "impersonate", resource: "serviceaccounts", namespace: "default", name: "default" },
    ],
  ])("may not %s", async (_rule, access) => {
    expect(await may(gateway, access)).toMatchObject({ allowed: false });
  });

  it.for<[string, readonly string[], string]>([
    ["acts as a user", ["--as=alice"], ""],
    ["acts as a user in groups", ["--as=alice", "--as-group=devs"], ""],
    [
      "is refused system:masters",
      ["--as=alice", "--as-group=system:masters"],
      "impersonating the system:masters group is not allowed",
    ],
    ["is refused a service account", ["--as=system:serviceaccount:default:default"], "Forbidden"],
    ["is refused a node", ["--as=system:node:one", "--as-group=system:nodes"], "Forbidden"],
    ["is refused a uid", ["--as=alice", "--as-uid=1"], "Forbidden"],
  ])("%s by constrained impersonation", async ([_rule, as, refusal], { skip }) => {
    skip(!isConstrained, "constrained impersonation needs Kubernetes 1.36");
    const { kubectl: program, directory } = inject("controlPlane");
    const access = { kubectl: program, directory, kubeconfigs: { gateway: login.kubeconfig } };
    const args = ["get", "--raw", "/version", ...as];
    const { code, stderr } = await tryKubectl(access, args, { user: "gateway" });
    expect([code, stderr]).toEqual([refusal === "" ? 0 : 1, expect.stringContaining(refusal)]);
  });
});

describe("the account latchkey-direct-authorizer", () => {
  const authorizer = latchkeyAccount("latchkey-direct-authorizer");
  const secret = { resource: "secrets", namespace: "latchkey-system" };
  beforeAll(() => applyDirectAuthorizerRbac(inject("controlPlane")));

  it.each<[string, Access]>([
    ["keep the list", { ...secret, verb: "patch", name: "latchkey-direct-authorizer-keys" }],
    ["renew", { ...secret, verb: "update", name: "latchkey-direct-authorizer-certificates" }],
  ])("may %s", async (_rule, access) => {
    expect(await may(authorizer, access)).toMatchObject({ allowed: true });
  });

  it.each<[string, Access]>([
    ["read Secrets", { verb: "list", resource: "secrets" }],
    ["read other Secrets", { ...secret, verb: "get", name: "latchkey-direct-endpoint-keys" }],
    ["act as a user", { verb: "impersonate", resource: "users", name: "alice" }],
    ["write roles", { verb: "create", group: rbacGroup, resource: "clusterroles" }],
    ["read roles", { verb: "list", group: rbacGroup, resource: "clusterroles" }],
    ["read namespaces", { verb: "list", resource: "namespaces" }],
  ])("may not %s", async (_rule, access) => {
    expect(await may(authorizer, access)).toMatchObject({ allowed: false });
  });
});

describe("the account latchkey-direct-endpoint", () => {
  const endpoint = latchkeyAccount("latchkey-direct-endpoint");
  const secret = { resource: "secrets", namespace: "latchkey-system" };
  const [kept, certificates] = [
    { ...secret, name: "latchkey-direct-endpoint-keys" },
    { ...secret, name: "latchkey-direct-endpoint-certificates" },
  ];
  beforeAll(() => applyDirectEndpointRbac(inject("controlPlane")));

  it.each<[string, Access]>([
    ["keep the keys of the issuer", { ...kept, verb: "patch" }],
    ["keep its certificates", { ...certificates, verb: "update" }],
  ])("may %s", async (_rule, access) => {
    expect(await may(endpoint, access)).toMatchObject({ allowed: true });
  });

  it.each<[string, Access]>([
    ["read Secrets", { verb: "list", resource: "secrets" }],
    ["read Secrets of its namespace", { ...secret, verb: "list" }],
    ["read other Secrets", { ...secret, verb: "get", name: "latchkey-signing-keys" }],
    ["delete the kept keys", { ...kept, verb: "delete" }],
    ["read access keys", { verb: "get", group: management, resource: "ownedaccesskeys" }],
    ["read namespaces", { verb: "list", resource: "namespaces" }],
    ["write roles", { verb: "create", group: rbacGroup, resource: "clusterroles" }],
    ["read roles", { verb: "list", group: rbacGroup, resource: "clusterroles" }],
    [
      "act as a service account",
      { verb: "impersonate", resource: "serviceaccounts", namespace: "default", name: "default" },
    ],
  ])("may not %s", async (_rule, access) => {
    expect(await may(endpoint, access)).toMatchObject({ allowed: false });
  });
});

describe("the account latchkey-webhook", () => {
  const certificates = {
    resource: "secrets",
    namespace: "latchkey-system",
    name: "latchkey-webhook-certificates",
  };
  const keys = { group: management, resource: "ownedaccesskeys" };

  it.each<[string, Access]>([
    ["read access keys", { ...keys, verb: "list" }],
    ["write their last use", { ...keys, verb: "patch", subresource: "status" }],
    ["renew its certificates", { ...certificates, verb: "update" }],
    [
      "record Events about access keys",
      { verb: "create", group: "events.k8s.io", resource: "events", namespace: "default" },
    ],
  ])("may %s", async (_rule, access) => {
    expect(await may(latchkeyAccount("latchkey-webhook"), access)).toMatchObject({ allowed: true });
  });

  it.each<[string, Access]>([
    ["read Secrets", { verb: "list", resource: "secrets" }],
    ["read the signing keys", { ...certificates, verb: "get", name: "latchkey-signing-keys" }],
    ["read SharedSecrets", { verb: "list", group: management, resource: "sharedsecrets" }],
    ["change access keys", { ...keys, verb: "patch" }],
    [
      "read direct tokens",
      { verb: "list", group: management, resource: "directclusterendpointtokens" },
    ],
    [
      "record Events in other namespaces",
      { verb: "create", group: "events.k8s.io", resource: "events", namespace: "kube-system" },
    ],
    ["change namespaces", { verb: "patch", resource: "namespaces" }],
  ])("may not %s", async (_rule, access) => {
    expect(await may(latchkeyAccount("latchkey-webhook"), access)).toMatchObject({
      allowed: false,
    });
  });
});

describe("in a namespace", () => {
  it.skipIf(!inject("controlPlane").hasControllerManager)(
    "admin can read SharedSecrets, edit and view cannot",
    async () => {
      const namespace = await makeNamespace();
      const [admin, edit, view] = ["admin", "edit", "view"].map((role): Caller => ({
        user: unique(role),
      }));
      for (const caller of [admin, edit, view]) {
        await bind(
          { kind: "User", name: caller?.user ?? "" },
          caller?.user?.split("-")[0] ?? "",
          namespace,
        );
      }
      const access = { verb: "get", group: management, resource: "sharedsecrets", namespace };
      const look = async () =>
        JSON.stringify(await may(admin ?? {}, access)).includes('"allowed":true');
      await eventually(look, { what: "the ClusterRole admin to include SharedSecrets" });
      expect(await may(edit ?? {}, access)).toMatchObject({ allowed: false });
      expect(await may(view ?? {}, access)).toMatchObject({ allowed: false });
    },
  );
});

describe.each([
  ["controller", manifests("controller")],
  ["webhook", manifests("webhook")],
  ["gateway", ofGateway],
  ["direct-endpoint", ofDirectEndpoint],
  ["direct-authorizer", ofDirectAuthorizer],
] as const)("the objects of config/%s", (directory, objects) => {
  it("have pods that comply with the restricted Pod Security Standard of their namespace", async () => {
    const deployment = objects.find(({ kind }) => kind === "Deployment");
    const body = { metadata: { name: unique("pod") }, spec: deployment?.spec?.template?.spec };
    const answer = await ask(
      {},
      { method: "POST", path: "/api/v1/namespaces/latchkey-system/pods?dryRun=All", body },
    );
    expect(answer).toMatchObject({ code: 201 });
  });

  it("are accepted by the API server", async () => {
    const said = await kubectl(inject("controlPlane"), [
      "apply",
      "--server-side",
      "--dry-run=server",
      "-k",
      join(repository, "config", directory),
    ]);
    expect(said.trim().split("\n")).toHaveLength(objects.length);
  });
});
