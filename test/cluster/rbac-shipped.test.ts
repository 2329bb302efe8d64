import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { accountKubeconfig, type ServiceAccountLogin } from "../support/account-login.ts";
import { eventually } from "../support/eventually.ts";
import {
  applyDirectAuthorizerRbac,
  applyClusterAgentRbac,
  applyDirectEndpointRbac,
  applyGatewayRbac,
  repository,
} from "../support/install.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import {
  admin,
  arrange,
  bind,
  latchkeyAccount,
  makeNamespace,
  unique,
  type Caller,
} from "../support/policy-request.ts";
import { dryCreate, ruleOf } from "./policy-fixture.ts";

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
const connectedPolicies = manifests("connected-policies");
const ofConnectedCluster = [...manifests("connected-cluster"), ...connectedPolicies];
const ofDirectEndpoint = [...manifests("direct-endpoint"), ...connectedPolicies];
const ofDirectAuthorizer = [...manifests("direct-authorizer"), ...connectedPolicies];
const ofClusterAgent = [...manifests("cluster-agent"), ...connectedPolicies];
const isRole = ({ kind }: Manifest): boolean => kind === "Role" || kind === "ClusterRole";
const roles = shipped.filter(isRole);
/** The roles that let a process act as the user of a key or token, in any request. */
const impersonation = ["latchkey-gateway-impersonation", "latchkey-direct-endpoint-impersonation"];
const rbac = "/apis/rbac.authorization.k8s.io/v1";

function isNarrow({ metadata }: Manifest): boolean {
  return !impersonation.includes(metadata.name);
}

/** Whether the caller is allowed what a text says: `verb group resource [name] [in namespace]`. */
async function may({ user, groups }: Caller, access: string): Promise<unknown> {
  const [, verb, group = "", resource, subresource, name, namespace] =
    /^(\S+) (\S+) ([a-z]+)(?:\/(\S+))?(?: (?!in )(\S+))?(?: in (\S+))?$/.exec(access) ?? [];
  if (resource === undefined) throw new Error(`not an access: ${access}`);
  const apiGroup = group === "core" ? "" : group;
  const resourceAttributes = { verb, group: apiGroup, resource, subresource, name, namespace };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const body = { spec: { user, groups, resourceAttributes } };
  return recordAt(await arrange({ method: "POST", path, body }), "status").allowed;
}

const secretAccess = (verb: string, name: string): string =>
  `${verb} core secrets ${name} in latchkey-system`;

const readPolicy = (name: string): string =>
  `get admissionregistration.k8s.io validatingadmissionpolicies ${name}`;

type Row = readonly [rule: string, access: string];

/** Tests what an account may and may not do. */
function hasAccess(account: Caller, allowed: readonly Row[], refused: readonly Row[]): void {
  it.each(allowed)("may %s", async (_rule, access) => {
    expect(await may(account, access)).toBe(true);
  });
  it.each(refused)("may not %s", async (_rule, access) => {
    expect(await may(account, access)).toBe(false);
  });
}

describe("the shipped roles", () => {
  it.each(
    [
      ...[...shipped, ...ofGateway, ...ofConnectedCluster],
      ...[...ofDirectEndpoint, ...ofDirectAuthorizer, ...ofClusterAgent],
    ]
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
    ["connected-cluster", ofConnectedCluster, ["latchkey-gateway"]],
    ["direct-endpoint", ofDirectEndpoint, ["latchkey-direct-endpoint"]],
    ["direct-authorizer", ofDirectAuthorizer, ["latchkey-direct-authorizer"]],
    ["cluster-agent", ofClusterAgent, ["latchkey-cluster-agent"]],
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
        expect(await may(asker, `${verb} management.service ${resource}`)).toBe(false);
      },
    );
    it("allows create", async () => {
      expect(await may(asker, `create management.service ${resource}`)).toBe(true);
    });
  });
});

describe("the controller's account", () => {
  const controller = latchkeyAccount("latchkey-controller");
  const lease = "coordination.k8s.io leases latchkey-controller";

  it.each([
    "watch management.service sharedsecrets",
    "patch management.service directclusterendpointtokens/status",
    "create core secrets in default",
    `update ${lease} in latchkey-system`,
    "create events.k8s.io events in default",
    "watch core configmaps",
    "list coordination.k8s.io leases",
  ])("may %s", async (access) => {
    expect(await may(controller, access)).toBe(true);
  });

  it.each([
    "update core configmaps report-0 in latchkey-cluster-east",
    "delete core configmaps report-0 in latchkey-cluster-east",
    "update coordination.k8s.io leases latchkey-cluster-agent in latchkey-cluster-east",
    "create core namespaces",
    "delete core namespaces latchkey-cluster-east",
    "create management.service sharedsecrets in default",
    "create management.service ownedaccesskeys",
    "assign management.service projects web",
    "deletecollection core secrets in default",
    "update core namespaces",
    `update ${lease} in kube-system`,
    `delete ${lease} in latchkey-system`,
    "get apiextensions.k8s.io customresourcedefinitions sharedsecrets.management.service",
    "update admissionregistration.k8s.io validatingadmissionpolicies",
    "list core pods",
    "create core serviceaccounts/token in default",
    "impersonate core users alice",
  ])("may not %s", async (access) => {
    expect(await may(controller, access)).toBe(false);
  });

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
  const all = "get,list,watch,update,patch,delete";
  const secrets = "management.service sharedsecrets";
  const requested = "management.service ownedaccesskeys,directclusterendpointtokens";
  it.each([
    {
      rule: "the six verbs on a SharedSecret and its status",
      granted: `${all} ${secrets},sharedsecrets/status mine`,
      as: role,
      code: 201,
    },
    {
      rule: "get, list, watch and delete on keys and tokens",
      granted: `get,list,watch,delete ${requested} mine`,
      as: clusterRole,
      code: 201,
    },
    {
      rule: "patch on keys",
      granted: "patch management.service ownedaccesskeys mine",
      as: clusterRole,
      code: 201,
    },
    {
      rule: "update on keys",
      granted: "update management.service ownedaccesskeys mine",
      as: clusterRole,
      code: 403,
    },
    { rule: "every verb on a SharedSecret", granted: `* ${secrets} mine`, as: role, code: 403 },
    { rule: "create on SharedSecrets", granted: `create ${secrets} mine`, as: role, code: 403 },
    { rule: "get on pods", granted: "get core pods", as: clusterRole, code: 403 },
  ])("grants $rule: $code", async ({ granted, code, as: { plural, name, label } }) => {
    const body = { metadata: { name, labels: { [label]: "1" } }, rules: [ruleOf(granted)] };
    expect(await dryCreate(controller, `${rbac}/${plural}`, body)).toMatchObject({ code });
  });
});

describe("the account latchkey-gateway", () => {
  const gateway = latchkeyAccount("latchkey-gateway");
  let login: ServiceAccountLogin;
  /** Before Kubernetes 1.36 the account has plain `impersonate`. */
  let isConstrained: boolean;

  beforeAll(async () => {
    const controlPlane = inject("controlPlane");
    await applyGatewayRbac(controlPlane);
    const { directory } = controlPlane;
    login = await accountKubeconfig(controlPlane, { directory, account: "latchkey-gateway" });
    isConstrained = !(await may(gateway, "impersonate core users alice"));
  });
  afterAll(() => login.close());

  const list = "core configmaps latchkey-clusters in latchkey-system";
  const otherList = "core configmaps kube-root-ca.crt in latchkey-system";
  hasAccess(
    gateway,
    [
      ["read access keys", "list management.service ownedaccesskeys"],
      ["write their last use", "patch management.service ownedaccesskeys/status"],
      ["end access keys", "patch management.service ownedaccesskeys"],
      ["keep its certificates", secretAccess("update", "latchkey-gateway-certificates")],
      ["write the list of connected clusters", `patch ${list}`],
      ["record Events about access keys", "create events.k8s.io events in default"],
    ],
    [
      ["read Secrets", "list core secrets"],
      ["read the signing keys", secretAccess("get", "latchkey-signing-keys")],
      [
        "read the certificates of the webhook",
        secretAccess("get", "latchkey-webhook-certificates"),
      ],
      ["read SharedSecrets", "list management.service sharedsecrets"],
      ["read direct tokens", "get management.service directclusterendpointtokens"],
      ["replace access keys", "update management.service ownedaccesskeys"],
      ["create the list of connected clusters", `create ${list}`],
      ["delete the list of connected clusters", `delete ${list}`],
      ["write other ConfigMaps", `patch ${otherList}`],
      ["read other ConfigMaps", `get ${otherList}`],
      ["write roles", "create rbac.authorization.k8s.io roles"],
      ["act as a service account", "impersonate core serviceaccounts default in default"],
    ],
  );

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
  beforeAll(() => applyDirectAuthorizerRbac(inject("controlPlane")));

  hasAccess(
    latchkeyAccount("latchkey-direct-authorizer"),
    [
      ["keep the list", secretAccess("patch", "latchkey-direct-authorizer-keys")],
      ["renew", secretAccess("update", "latchkey-direct-authorizer-certificates")],
      ["follow namespaces", "watch core namespaces"],
      ["read the policy that guards their labels", readPolicy("latchkey-project-assignment")],
      ["read the policy that names Latchkey's namespace", readPolicy("latchkey-own-secrets")],
    ],
    [
      ["read Secrets", "list core secrets"],
      ["read other Secrets", secretAccess("get", "latchkey-direct-endpoint-keys")],
      ["act as a user", "impersonate core users alice"],
      ["write roles", "create rbac.authorization.k8s.io clusterroles"],
      ["read roles", "list rbac.authorization.k8s.io clusterroles"],
      ["change namespaces", "patch core namespaces"],
      ["read other policies", readPolicy("latchkey-derived-credentials")],
    ],
  );
});

describe("the account latchkey-direct-endpoint", () => {
  beforeAll(() => applyDirectEndpointRbac(inject("controlPlane")));

  hasAccess(
    latchkeyAccount("latchkey-direct-endpoint"),
    [
      ["keep the keys of the issuer", secretAccess("patch", "latchkey-direct-endpoint-keys")],
      ["keep its certificates", secretAccess("update", "latchkey-direct-endpoint-certificates")],
      ["follow namespaces", "watch core namespaces"],
      ["read the policy that guards their labels", readPolicy("latchkey-project-assignment")],
      ["read the policy that names Latchkey's namespace", readPolicy("latchkey-own-secrets")],
    ],
    [
      ["read Secrets", "list core secrets"],
      ["read Secrets of its namespace", "list core secrets in latchkey-system"],
      ["read other Secrets", secretAccess("get", "latchkey-signing-keys")],
      ["delete the kept keys", secretAccess("delete", "latchkey-direct-endpoint-keys")],
      ["read access keys", "get management.service ownedaccesskeys"],
      ["change namespaces", "patch core namespaces"],
      ["read other policies", readPolicy("latchkey-derived-credentials")],
      ["write roles", "create rbac.authorization.k8s.io clusterroles"],
      ["read roles", "list rbac.authorization.k8s.io clusterroles"],
      ["act as a service account", "impersonate core serviceaccounts default in default"],
    ],
  );
});

describe("the account latchkey-cluster-agent", () => {
  beforeAll(() => applyClusterAgentRbac(inject("controlPlane")));

  const lease = "coordination.k8s.io leases latchkey-cluster-agent in latchkey-system";
  hasAccess(
    latchkeyAccount("latchkey-cluster-agent"),
    [
      ["follow Secrets", "watch core secrets"],
      ["write copies", "create core secrets in default"],
      ["follow namespaces", "watch core namespaces"],
      ["read the uid of kube-system", "get core namespaces kube-system"],
      ["follow quotas", "watch core resourcequotas"],
      ["renew its Lease", `update ${lease}`],
      ["record Events", "create events.k8s.io events in default"],
      ["read the policy that guards labels", readPolicy("latchkey-project-assignment")],
      ["read the policy that limits it", readPolicy("latchkey-own-secrets")],
    ],
    [
      ["read other policies", readPolicy("latchkey-derived-credentials")],
      ["delete its Lease", `delete ${lease}`],
      [
        "renew other Leases",
        "update coordination.k8s.io leases latchkey-controller in latchkey-system",
      ],
      ["change namespaces", "patch core namespaces"],
      ["read SharedSecrets", "list management.service sharedsecrets"],
      ["read ConfigMaps", "list core configmaps in latchkey-system"],
      ["write roles", "create rbac.authorization.k8s.io clusterroles"],
      ["act as a user", "impersonate core users alice"],
    ],
  );
});

describe("the account latchkey-webhook", () => {
  hasAccess(
    latchkeyAccount("latchkey-webhook"),
    [
      ["read access keys", "list management.service ownedaccesskeys"],
      ["write their last use", "patch management.service ownedaccesskeys/status"],
      ["renew its certificates", secretAccess("update", "latchkey-webhook-certificates")],
      ["record Events about access keys", "create events.k8s.io events in default"],
    ],
    [
      ["read Secrets", "list core secrets"],
      ["read the signing keys", secretAccess("get", "latchkey-signing-keys")],
      ["read SharedSecrets", "list management.service sharedsecrets"],
      ["change access keys", "patch management.service ownedaccesskeys"],
      ["read direct tokens", "list management.service directclusterendpointtokens"],
      ["record Events in other namespaces", "create events.k8s.io events in kube-system"],
      ["change namespaces", "patch core namespaces"],
    ],
  );
});

describe("in a namespace", () => {
  it.skipIf(!inject("controlPlane").hasControllerManager)(
    "admin can read SharedSecrets, edit and view cannot",
    async () => {
      const namespace = await makeNamespace();
      const boundTo = async (role: string): Promise<Caller> => {
        const user = unique(role);
        await bind({ kind: "User", name: user }, role, namespace);
        return { user };
      };
      const [ofAdmin, ofEdit, ofView] = [
        await boundTo("admin"),
        await boundTo("edit"),
        await boundTo("view"),
      ];
      const access = `get management.service sharedsecrets in ${namespace}`;
      await eventually(() => may(ofAdmin, access), {
        what: "the ClusterRole admin to include SharedSecrets",
      });
      expect(await may(ofEdit, access)).toBe(false);
      expect(await may(ofView, access)).toBe(false);
    },
  );
});

describe.each([
  ["controller", manifests("controller")],
  ["webhook", manifests("webhook")],
  ["gateway", ofGateway],
  ["direct-endpoint", ofDirectEndpoint],
  ["direct-authorizer", ofDirectAuthorizer],
  ["cluster-agent", ofClusterAgent],
] as const)("the objects of config/%s", (directory, objects) => {
  it("have pods that comply with the restricted Pod Security Standard of their namespace", async () => {
    const deployment = objects.find(({ kind }) => kind === "Deployment");
    const body = { metadata: { name: unique("pod") }, spec: deployment?.spec?.template?.spec };
    const pods = "/api/v1/namespaces/latchkey-system/pods";
    expect(await dryCreate(admin, pods, body)).toMatchObject({ code: 201 });
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
