import { beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion, labels } from "../../src/api/names.ts";
import { eventually } from "../support/eventually.ts";
import {
  api,
  as,
  ask,
  patchTypes,
  unique,
  type Answer,
  type Ask,
  type Caller,
} from "../support/policy-request.ts";

const rbac = "rbac.authorization.k8s.io";
const [tenant, owner] = [unique("tenant"), "owner"];
const carol = { user: unique("carol") };
const sharedSecrets = `/apis/${apiVersion}/namespaces/${tenant}/sharedsecrets`;
const keys = `/apis/${apiVersion}/ownedaccesskeys`;
/** Allows all writes of these tests, except delete, share and assign. */
const writing = [
  {
    verbs: ["get", "create", "update", "patch"],
    resources: [
      { group: "management.service", resources: ["sharedsecrets", "ownedaccesskeys"] },
      { group: "", resources: ["namespaces"] },
    ],
  },
];
const named = [
  {
    verbs: ["delete", "share", "assign"],
    resources: [
      { group: "management.service", resources: ["sharedsecrets", "projects"] },
      { group: "", resources: ["configmaps"] },
    ],
  },
];

// As with the gateway: the request is impersonated with the extras of a key, and no authorizer of
// Latchkey is called.
describe.skipIf(inject("gateway") === undefined)(
  "a request with a key, when kube-apiserver has no authorization webhook",
  () => {
    const callers = new Map<string, Caller>();
    let ownerUid = "";

    beforeAll(async () => {
      await api.create("/api/v1/namespaces", { metadata: { name: tenant } });
      const { metadata } = await api.create(`/api/v1/namespaces/${tenant}/configmaps`, {
        metadata: { name: owner },
      });
      ownerUid = String(metadata["uid"]);
      // Carol has all these permissions.
      const body = {
        metadata: { name: carol.user },
        roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-admin" },
        subjects: [{ apiGroup: rbac, kind: "User", name: carol.user }],
      };
      await api.create(`/apis/${rbac}/v1/clusterrolebindings`, body);
      for (const [name, rules] of [
        ["narrow", writing],
        ["wide", [...writing, ...named]],
      ] as const) {
        const spec = { user: carol.user, key: `the-key-of-carol-${name}`, scope: { rules } };
        const body = { apiVersion, kind: "OwnedAccessKey", metadata: { name }, spec };
        const made = await eventually(
          async () => {
            const answer = await as(carol).create(keys, body);
            return answer.code === 201 && answer;
          },
          { what: "carol to be allowed to create keys" },
        );
        callers.set(name, {
          ...carol,
          extra: { "management.service/key-id": [String(made.metadata["uid"])] },
        });
      }
      // The webhook denies the requests of a key that it does not know yet.
      for (const caller of callers.values())
        await eventually(async () => !/was deleted/.test((await labelled(caller)).message), {
          what: "the webhook to know the key",
        });
      callers.set("none", carol);
    });

    const secretOf = (metadata: object = {}): object => ({
      apiVersion,
      kind: "SharedSecret",
      metadata: { name: unique("secret"), ...metadata },
      spec: { data: {} },
    });
    const merge = (path: string, body: object): Ask => ({
      method: "PATCH",
      type: patchTypes.merge,
      path,
      body,
    });

    async function changed(caller: Caller, change: object): Promise<Answer> {
      const { metadata } = await api.create(
        sharedSecrets,
        secretOf({ annotations: { "management.service/sync-to-projects": "web" } }),
      );
      return ask(caller, merge(`${sharedSecrets}/${metadata.name}`, change));
    }

    async function labelled(caller: Caller): Promise<Answer> {
      const name = unique("labelled");
      await api.create("/api/v1/namespaces", { metadata: { name } });
      return ask(
        caller,
        merge(`/api/v1/namespaces/${name}`, { metadata: { labels: { [labels.project]: "web" } } }),
      );
    }

    const withOwner = (): object => ({
      ownerReferences: [
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          name: owner,
          uid: ownerUid,
          blockOwnerDeletion: true,
        },
      ],
    });
    const post = (caller: Caller, metadata: object): Promise<Answer> =>
      as(caller).create(sharedSecrets, secretOf(metadata));

    const actions: readonly (readonly [
      string,
      (caller: Caller) => Promise<Answer>,
      number,
      string,
    ])[] = [
      [
        "changes access",
        (caller) =>
          changed(caller, { spec: { access: [{ name: "all", users: ["*"], verbs: ["get"] }] } }),
        403,
        "does not allow delete sharedsecrets.management.service",
      ],
      [
        "changes the owner",
        (caller) => changed(caller, { spec: { owner: { user: "eve" } } }),
        403,
        "does not allow delete sharedsecrets.management.service",
      ],
      [
        "removes an owner reference",
        (caller) =>
          changed(caller, {
            metadata: {
              ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "u" }],
            },
          }),
        403,
        "does not allow delete sharedsecrets.management.service",
      ],
      [
        "syncs the object to another project",
        (caller) => post(caller, { annotations: { "management.service/sync-to-projects": "pay" } }),
        403,
        "does not allow share projects.management.service pay",
      ],
      [
        "assigns a namespace to a project",
        labelled,
        403,
        "does not allow assign projects.management.service web",
      ],
      [
        "blocks the deletion of an owner",
        (caller) => post(caller, withOwner()),
        422,
        "does not allow delete configmaps",
      ],
    ];

    it.each(actions)(
      "%s only within its scope, regardless of the permissions of its user",
      async (_what, action, code, message) => {
        const [narrow = {}, wide = {}, none = {}] = ["narrow", "wide", "none"].map((name) =>
          callers.get(name),
        );
        expect(await action(narrow)).toMatchObject({
          code,
          message: expect.stringContaining(`the scope of this credential ${message}`),
        });
        expect((await action(wide)).code).toBeLessThan(300);
        expect((await action(none)).code).toBeLessThan(300);
      },
    );

    it("can change data within a narrow scope", async () => {
      expect(
        await changed(callers.get("narrow") ?? {}, { spec: { data: { a: "YQ==" } } }),
      ).toMatchObject({ code: 200 });
    });

    it("cannot create a key for another user, even one that its user may impersonate", async () => {
      const body = {
        apiVersion,
        kind: "OwnedAccessKey",
        metadata: { name: unique("made") },
        spec: { user: "bob", scope: { rules: writing } },
      };
      expect(await as(callers.get("wide") ?? {}).create(keys, body)).toMatchObject({
        code: 403,
        message: expect.stringContaining("its own identity and groups"),
      });
      expect(await as(carol).create(keys, body)).toMatchObject({
        code: 201,
      });
    });
  },
);
