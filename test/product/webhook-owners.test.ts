import { beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { becomes } from "../support/becomes.ts";
import { allow, api, as, request, type Answer, ask, unique } from "../support/policy-request.ts";

const namespace = unique("owners");
const alice = { user: unique("alice") };
/** Unlike alice, without permission to update finalizers of owners. */
const carol = { user: unique("carol") };
const [mine, others] = ["mine", "others"];
const sharedSecrets = `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`;

interface Wanted {
  readonly name?: string;
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly holds?: boolean;
}

const uids = new Map<string, string>();

function ownedBy({
  name = mine,
  kind = "ConfigMap",
  apiVersion: version = "v1",
  holds = true,
}: Wanted): object {
  const reference = {
    apiVersion: version,
    kind,
    name,
    uid: uids.get(name) ?? "00000000-0000-0000-0000-000000000000",
    blockOwnerDeletion: holds,
  };
  return { ownerReferences: [reference] };
}

function makeOwned(wanted: Wanted, name = unique("owned"), by = alice): Promise<Answer> {
  return as(by).create(sharedSecrets, {
    apiVersion,
    kind: "SharedSecret",
    metadata: { name, ...ownedBy(wanted) },
    spec: {},
  });
}

/** The response to a request that requires `delete` on the owner `others`. */
const refused = {
  code: 422,
  message: expect.stringContaining(
    'metadata.ownerReferences[0].blockOwnerDeletion: requires the verb delete on ConfigMap "others" of v1',
  ),
};

describe.skipIf(inject("webhook") === undefined)("a user who sets blockOwnerDeletion", () => {
  beforeAll(async () => {
    await api.create("/api/v1/namespaces", { metadata: { name: namespace } });
    for (const name of [mine, others]) {
      const { metadata } = await api.create(`/api/v1/namespaces/${namespace}/configmaps`, {
        metadata: { name },
      });
      uids.set(name, String(metadata.uid));
    }
    const rules = [
      {
        apiGroups: ["management.service"],
        resources: ["sharedsecrets", "ownedaccesskeys", "directclusterendpointtokens"],
        verbs: ["*"],
      },
      { apiGroups: [""], resources: ["configmaps"], resourceNames: [mine], verbs: ["delete"] },
      {
        apiGroups: ["rbac.authorization.k8s.io"],
        resources: ["clusterroles"],
        resourceNames: ["view"],
        verbs: ["delete"],
      },
    ];
    // What the admission plugin OwnerReferencesPermissionEnforcement of kube-apiserver requires.
    const finalizers = {
      apiGroups: ["", "rbac.authorization.k8s.io"],
      resources: ["configmaps/finalizers", "clusterroles/finalizers"],
      verbs: ["update"],
    };
    for (const [{ user }, granted] of [
      [alice, [...rules, finalizers]],
      [carol, rules],
    ] as const) {
      await allow({ kind: "User", name: user }, granted);
      await becomes(
        `the rights of ${user} to be known`,
        () => makeOwned({ holds: false }, unique("owned"), { user }),
        { code: 201 },
      );
    }
  });

  it("is allowed with permission to delete that owner", async () => {
    expect(await makeOwned({})).toMatchObject({ code: 201 });
  });

  it("gets 422 without that permission", async () => {
    expect(await makeOwned({ name: others })).toMatchObject(refused);
  });

  it("gets 422 before kube-apiserver asks for its own permission", async () => {
    expect(await makeOwned({ name: others }, unique("owned"), carol)).toMatchObject(refused);
  });

  it("gets 403 with that permission, if kube-apiserver requires its own", async () => {
    expect(await makeOwned({}, unique("owned"), carol)).toMatchObject({
      code: 403,
      message: expect.stringContaining(
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on",
      ),
    });
  });

  it("also gets 422 on an update, unless the owner reference existed before", async () => {
    const name = unique("owned");
    expect(await makeOwned({ name: others, holds: false }, name)).toMatchObject({ code: 201 });
    const path = `${sharedSecrets}/${name}`;
    const hold = request.merge(path, { metadata: ownedBy({ name: others }) });
    expect(await ask(alice, hold)).toMatchObject(refused);
    expect(await ask({}, hold)).toMatchObject({ code: 200 });
    expect(await as(alice).merge(path, { spec: { displayName: "changed" } })).toMatchObject({
      code: 200,
    });
  });

  it("gets 422 for a kind that the API server does not serve", async () => {
    expect(await makeOwned({ kind: "Nothing" })).toMatchObject({
      code: 422,
      message: expect.stringContaining("does not serve Nothing of v1"),
    });
    expect(await makeOwned({ kind: "Nothing", apiVersion: "nowhere.example/v1" })).toMatchObject({
      code: 422,
      message: expect.stringContaining("does not serve Nothing of nowhere.example/v1"),
    });
  });

  it.each([
    "../../apis/management.service/v1/ownedaccesskeys?x=",
    "v1/../../api/v1",
    "a/b/v1",
    "",
    "V1",
    "v1/",
    "__proto__",
    "constructor/v1",
  ])("gets 422 for an invalid apiVersion: %j", async (version) => {
    expect(await makeOwned({ apiVersion: version })).toMatchObject({ code: 422 });
  });

  it.each([
    ["OwnedAccessKey", "ownedaccesskeys", { user: alice.user }],
    ["DirectClusterEndpointToken", "directclusterendpointtokens", {}],
  ])(
    "needs the permission for cluster-scoped owners of a new %s, whose resource comes from discovery",
    async (kind, plural, spec) => {
      const create = (name: string) =>
        as(alice).create(`/apis/${apiVersion}/${plural}`, {
          apiVersion,
          kind,
          spec,
          metadata: {
            name: unique("owned"),
            ...ownedBy({ name, kind: "ClusterRole", apiVersion: "rbac.authorization.k8s.io/v1" }),
          },
        });
      expect(await create("view")).toMatchObject({ code: 201 });
      expect(await create("edit")).toMatchObject({ code: 422 });
    },
  );
});
