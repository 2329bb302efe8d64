import { beforeAll, describe, expect, inject, it } from "vitest";
import {
  admin,
  answered,
  arrange,
  ask,
  latchkeyAccount,
  makeNamespace,
  patchTypes,
  unique,
  type Answer,
} from "../support/policy-request.ts";

const controller = latchkeyAccount("latchkey-controller");
const group = "rbac.authorization.k8s.io";
const api = `/apis/${group}/v1`;
const hex = (length: number): string =>
  Array.from({ length }, () => "0123456789abcdef"[Math.floor(Math.random() * 16)]).join("");
const eve = { kind: "User", apiGroup: group, name: unique("eve") };
let namespace: string;

beforeAll(async () => {
  namespace = await makeNamespace();
});

type Kind = "roles" | "rolebindings" | "clusterroles" | "clusterrolebindings";
const isOfCluster = (kind: Kind): boolean => kind.startsWith("cluster");
const nameOf = (kind: Kind): string =>
  isOfCluster(kind) ? `latchkey-requester-${hex(32)}-0` : `latchkey-database-${hex(16)}`;
const labelOf = (kind: Kind): string =>
  isOfCluster(kind) ? "management.service/requester-hash" : "management.service/source-uid";
const place = (kind: Kind): string =>
  isOfCluster(kind) ? `${api}/${kind}` : `${api}/namespaces/${namespace}/${kind}`;

/** An object as the controller writes it, with these changes. */
function written(
  kind: Kind,
  { metadata = {}, ...rest }: { metadata?: object; [field: string]: unknown } = {},
): { metadata: { name: string; labels: Record<string, string> } } {
  const name = nameOf(kind);
  const rule = {
    apiGroups: ["management.service"],
    resources: [isOfCluster(kind) ? "ownedaccesskeys" : "sharedsecrets"],
    resourceNames: ["db"],
    verbs: ["get", "watch", "delete"],
  };
  const body = kind.endsWith("roles")
    ? { rules: [rule] }
    : {
        roleRef: { apiGroup: group, kind: isOfCluster(kind) ? "ClusterRole" : "Role", name },
        subjects: [eve],
      };
  return { ...body, ...rest, metadata: { name, labels: { [labelOf(kind)]: hex(8) }, ...metadata } };
}

const create = (kind: Kind, body: object): Promise<Answer> =>
  ask(controller, { method: "POST", path: `${place(kind)}?dryRun=All`, body });
/** The API server rejects a binding to a missing role before it evaluates policies. */
async function makeRoleOf(kind: Kind, name: string): Promise<void> {
  const role = kind.replace("bindings", "s");
  if (role !== kind)
    await arrange({
      method: "POST",
      path: place(kind).replace(kind, role),
      body: { metadata: { name }, rules: [] },
    });
}

const kinds = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"] as const;

describe.skipIf(!inject("hasPolicies"))("the account of the controller", () => {
  it.each(kinds)("can create %s of its own", async (kind) => {
    const own = written(kind);
    await makeRoleOf(kind, own.metadata.name);
    expect(await create(kind, own)).toMatchObject({ code: 201 });
  });

  const ownRule = {
    apiGroups: ["management.service"],
    resources: ["sharedsecrets"],
    resourceNames: ["db"],
    verbs: ["get"],
  };
  const copyRule = {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [`latchkey-data-${hex(16)}`],
    verbs: ["get"],
  };
  const followed = { annotations: { "management.service/source": "db" } };
  /** By the account with all rights, so that RBAC itself does not reject it. */
  const withRules = (kind: Kind, rules: readonly object[], more: object = followed) => {
    const whole = written(kind, { rules });
    return ask(
      { ...controller, groups: ["system:masters"] },
      {
        method: "POST",
        path: `${place(kind)}?dryRun=All`,
        body: { ...whole, metadata: { ...whole.metadata, ...more } },
      },
    );
  };

  it("can let the readers of a SharedSecret get the copy that has its data", async () => {
    for (const subresources of [[], ["sharedsecrets/status"]]) {
      const own = { ...ownRule, resources: ["sharedsecrets", ...subresources] };
      const role = written("roles", { rules: [own, copyRule] });
      const metadata = { ...role.metadata, ...followed };
      expect(await create("roles", { ...role, metadata })).toMatchObject({ code: 201 });
    }
  });

  it.each<[what: string, rules: readonly object[], more?: object]>([
    ["without a rule of its own", [copyRule]],
    ["without the annotation", [ownRule, copyRule], {}],
    ["with another verb", [ownRule, { ...copyRule, verbs: ["update"] }]],
    ["with every verb", [ownRule, { ...copyRule, verbs: ["*"] }]],
    ["with one more verb", [ownRule, { ...copyRule, verbs: ["get", "list"] }]],
    ["of two names", [ownRule, { ...copyRule, resourceNames: [...copyRule.resourceNames, "db"] }]],
    [
      "of two copies",
      [ownRule, copyRule, { ...copyRule, resourceNames: [`latchkey-data-${hex(16)}`] }],
    ],
    ["of no name", [ownRule, { ...copyRule, resourceNames: [] }]],
    ["of all Secrets", [ownRule, { ...copyRule, resourceNames: undefined }]],
    ["of another name", [ownRule, { ...copyRule, resourceNames: ["db-password"] }]],
    ["of a longer name", [ownRule, { ...copyRule, resourceNames: [`latchkey-data-${hex(17)}`] }]],
    ["of a shorter name", [ownRule, { ...copyRule, resourceNames: [`latchkey-data-${hex(15)}`] }]],
    [
      "of a prefixed name",
      [ownRule, { ...copyRule, resourceNames: [`a-latchkey-data-${hex(16)}`] }],
    ],
    [
      "of a name of lines",
      [ownRule, { ...copyRule, resourceNames: [`latchkey-data-${hex(16)}\n`] }],
    ],
    ["in another group", [ownRule, { ...copyRule, apiGroups: ["example.com"] }]],
    ["in one more group", [ownRule, { ...copyRule, apiGroups: ["", "example.com"] }]],
    ["in every group", [ownRule, { ...copyRule, apiGroups: ["*"] }]],
    ["of another kind", [ownRule, { ...copyRule, resources: ["configmaps"] }]],
    ["of one more kind", [ownRule, { ...copyRule, resources: ["secrets", "configmaps"] }]],
    ["of a subresource", [ownRule, { ...copyRule, resources: ["secrets/status"] }]],
    ["of every subresource", [ownRule, { ...copyRule, resources: ["secrets/*"] }]],
    ["of every kind", [ownRule, { ...copyRule, resources: ["*"] }]],
    ["in one rule with its own", [{ ...ownRule, apiGroups: ["management.service", ""] }, copyRule]],
  ])("cannot grant get of Secrets in another form: %s", async (_what, rules, more) => {
    expect(await withRules("roles", rules, more)).toMatchObject(
      answered(403, "rules must only grant access to named objects"),
    );
  });

  it("cannot grant the copy in the whole cluster", async () => {
    const own = { ...ownRule, resources: ["ownedaccesskeys"] };
    expect(await withRules("clusterroles", [own, copyRule])).toMatchObject(
      answered(403, "rules must only grant access to named objects"),
    );
    const paths = { nonResourceURLs: ["/metrics"], verbs: ["get"] };
    expect(await withRules("clusterroles", [own, paths])).toMatchObject(
      answered(403, "rules must only grant access to named objects"),
    );
  });

  /**
   * RBAC itself rejects this, because the controller does not have these permissions; the policy
   * would reject it too.
   */
  const rbacItself = "attempting to grant";
  const rbacAggregation = "must have cluster-admin privileges to use the aggregationRule";
  const clusterAdmin = { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" };
  const ownRights = { apiGroup: group, kind: "ClusterRole", name: "latchkey-controller" };
  const refusedCreations: {
    rule: string;
    kind: Kind;
    change: { metadata?: object; [field: string]: unknown };
    refusal: string;
  }[] = [
    {
      rule: "cannot bind cluster-admin",
      kind: "clusterrolebindings",
      change: { roleRef: clusterAdmin },
      refusal: rbacItself,
    },
    {
      rule: "cannot bind its own permissions",
      kind: "clusterrolebindings",
      change: { roleRef: ownRights },
      refusal: "roleRef must refer to the role of the same name",
    },
    {
      rule: "cannot bind its own permissions in a namespace",
      kind: "rolebindings",
      change: { roleRef: ownRights },
      refusal: "roleRef must refer to the role of the same name",
    },
    {
      rule: "cannot bind its own permissions by another name",
      kind: "clusterrolebindings",
      change: { metadata: { name: "latchkey-controller-2", labels: {} }, roleRef: ownRights },
      refusal: "metadata.name must match",
    },
    {
      rule: "cannot create a Role without its label",
      kind: "roles",
      change: { metadata: { labels: { a: "b" } } },
      refusal: "must have management.service/source-uid",
    },
    {
      rule: "cannot create a Role with another name",
      kind: "roles",
      change: { metadata: { name: "latchkey-webhook" } },
      refusal: "metadata.name must match",
    },
    {
      rule: "cannot grant Secrets",
      kind: "roles",
      change: {
        rules: [{ apiGroups: [""], resources: ["secrets"], resourceNames: ["db"], verbs: ["get"] }],
      },
      refusal: "rules must only grant access to named objects",
    },
    {
      rule: "cannot grant Secrets in the whole cluster",
      kind: "clusterroles",
      change: { rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }] },
      refusal: "rules must only grant access to named objects",
    },
    {
      rule: "cannot grant a kind without resourceNames",
      kind: "clusterroles",
      change: {
        rules: [
          { apiGroups: ["management.service"], resources: ["ownedaccesskeys"], verbs: ["get"] },
        ],
      },
      refusal: "rules must only grant access to named objects",
    },
    {
      rule: "cannot grant SharedSecrets of all namespaces",
      kind: "clusterroles",
      change: {
        rules: [
          {
            apiGroups: ["management.service"],
            resources: ["sharedsecrets"],
            resourceNames: ["db"],
            verbs: ["get"],
          },
        ],
      },
      refusal: "rules must only grant access to named objects",
    },
    {
      rule: "cannot aggregate rules",
      kind: "clusterroles",
      change: {
        rules: null,
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
      },
      refusal: rbacAggregation,
    },
    {
      rule: "cannot be aggregated into another role",
      kind: "clusterroles",
      change: {
        metadata: {
          labels: {
            "management.service/requester-hash": "1",
            "rbac.authorization.k8s.io/aggregate-to-view": "true",
          },
        },
      },
      refusal: "labels that aggregate rules into another role",
    },
  ];
  it.each(refusedCreations)("$rule", async ({ kind, change, refusal }) => {
    const { metadata = {}, ...rest } = change;
    const whole = written(kind, rest);
    const answer = await create(kind, { ...whole, metadata: { ...whole.metadata, ...metadata } });
    expect(answer).toMatchObject(answered(403, refusal));
  });

  const foreign: {
    rule: string;
    method: "DELETE" | "PUT";
    path: string;
    body?: object;
    refusal?: string;
  }[] = [
    {
      rule: "cannot delete the binding of cluster-admin",
      method: "DELETE",
      path: `${api}/clusterrolebindings/cluster-admin`,
    },
    {
      rule: "cannot add a subject to it",
      method: "PUT",
      path: `${api}/clusterrolebindings/cluster-admin`,
      body: { subjects: [eve] },
      refusal: rbacItself,
    },
    {
      rule: "cannot edit the rules of admin",
      method: "PUT",
      path: `${api}/clusterroles/admin`,
      body: { rules: [] },
      refusal: rbacAggregation,
    },
    {
      rule: "cannot delete the ClusterRole admin",
      method: "DELETE",
      path: `${api}/clusterroles/admin`,
    },
    {
      rule: "cannot remove the rules of a ClusterRole of Kubernetes",
      method: "PUT",
      path: `${api}/clusterroles/system:discovery`,
      body: { rules: [] },
    },
    {
      rule: "cannot edit its own rules",
      method: "PUT",
      path: `${api}/clusterroles/latchkey-controller`,
      body: { rules: [] },
    },
    {
      rule: "cannot bind other users to its own rules",
      method: "PUT",
      path: `${api}/clusterrolebindings/latchkey-controller`,
      body: { subjects: [eve] },
    },
    {
      rule: "cannot bind other users to the rules of the webhook",
      method: "PUT",
      path: `${api}/namespaces/latchkey-system/rolebindings/latchkey-webhook`,
      body: { subjects: [eve] },
    },
    {
      rule: "cannot delete the ClusterRole for requesters",
      method: "DELETE",
      path: `${api}/clusterroles/latchkey-requester`,
    },
  ];
  it.each(foreign)(
    "$rule",
    async ({ method, path, body, refusal = "the stored object is not managed by Latchkey" }) => {
      const { code: _, ...whole } = await arrange({ method: "GET", path });
      const request = {
        method,
        path: `${path}?dryRun=All`,
        ...(body && { body: { ...whole, ...body } }),
      };
      expect(await ask(controller, request)).toMatchObject(answered(403, refusal));
    },
  );

  it.each(kinds)("cannot take over %s of other owners by adding its label", async (kind) => {
    const whole = written(kind);
    await makeRoleOf(kind, whole.metadata.name);
    const { code: _, ...stored } = await arrange({
      method: "POST",
      path: place(kind),
      body: { ...whole, metadata: { name: whole.metadata.name } },
    });
    const path = `${place(kind)}/${whole.metadata.name}?dryRun=All`;
    const taken = await ask(controller, {
      method: "PUT",
      path,
      body: { ...stored, metadata: { ...stored.metadata, labels: { [labelOf(kind)]: "1" } } },
    });
    expect(taken).toMatchObject(answered(403, "the stored object is not managed by Latchkey"));
    expect(await ask(controller, { method: "DELETE", path })).toMatchObject(
      answered(403, "the stored object is not managed by Latchkey"),
    );
  });

  it("can repair and delete its own objects after other users edited them", async () => {
    const edited = written("roles", {
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    });
    const { code: _, ...stored } = await arrange({
      method: "POST",
      path: place("roles"),
      body: edited,
    });
    const path = `${place("roles")}/${edited.metadata.name}`;
    const repaired = {
      ...stored,
      ...written("roles"),
      metadata: {
        ...stored.metadata,
        labels: { ...stored.metadata.labels, "rbac.authorization.k8s.io/kept": "a" },
      },
    };
    await arrange({
      method: "PATCH",
      path,
      type: patchTypes.merge,
      body: {
        metadata: { labels: { "rbac.authorization.k8s.io/kept": "a" }, resourceVersion: null },
      },
    });
    const { metadata } = await arrange({ method: "GET", path });
    expect(
      await ask(controller, { method: "PUT", path, body: { ...repaired, metadata } }),
    ).toMatchObject({ code: 200 });
    await arrange({
      method: "PATCH",
      path,
      type: patchTypes.merge,
      body: { metadata: { labels: null, annotations: { "management.service/source": "db" } } },
    });
    expect(await ask(controller, { method: "DELETE", path })).toMatchObject({ code: 200 });
  });
});

it("other users can write Roles as before", async () => {
  expect(
    await ask(admin, {
      method: "POST",
      path: `${place("roles")}?dryRun=All`,
      body: { metadata: { name: "reader" }, rules: [] },
    }),
  ).toMatchObject({ code: 201 });
});
