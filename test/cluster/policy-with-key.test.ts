import { beforeAll, describe, expect, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { listAt, stringAt } from "../../src/api/parse.ts";
import { annotation, restricting, storedTerms, widening } from "../support/key-changes.ts";
import {
  answered,
  type Answer,
  api,
  arrange,
  ask,
  type Caller,
  latchkeyAccount,
  patchTypes,
  replace,
  unique,
} from "../support/policy-request.ts";
import {
  collectionOf,
  create,
  digest,
  forceApply,
  gone,
  grantUser,
  made,
  keyOf,
  merge,
  root,
  withKey,
  withPolicies,
} from "./policy-fixture.ts";

const collection = collectionOf("ownedaccesskeys");
const stored = { user: "root", key: "canary-key-of-root", ...storedTerms };
const refused = answered(403, "root authenticated with an access key");

/** A key and who asks about it. */
interface Asked {
  readonly by: Caller;
  readonly path: string;
}

/** A key with this spec as another credential of root, that key itself and its parent see it. */
const relations = {
  async other(spec: object): Promise<Asked> {
    return { by: withKey(root, "k-18"), path: await made(collection, keyOf(spec)) };
  },
  async self(spec: object): Promise<Asked> {
    const path = await made(collection, keyOf(spec));
    return { by: withKey(root, String((await api.get(path)).metadata.uid)), path };
  },
  async child(spec: object): Promise<Asked> {
    const [by, key] = [withKey(root, "k-17"), keyOf(spec)];
    const { code, message } = await create(by, collection, key);
    if (code !== 201) throw new Error(message);
    return { by, path: `${collection}/${key.metadata.name}` };
  },
} as const;

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

withPolicies("with a key,", () => {
  describe.each(Object.entries(relations))("of a key that is to it: %s,", (relation, make) => {
    it.for(restricting)("can be changed: %s", async ([, before, patch]) => {
      const { by, path } = await make({ ...stored, ...before });
      expect(await merge(by, path, patch)).toMatchObject({ code: 200 });
    });

    it.for(widening)("cannot be changed: %s (from %o by %o)", async ([field, before, patch]) => {
      const { by, path } = await make({ ...stored, ...before });
      const answer = await merge(by, path, patch);
      expect(answer).toMatchObject(refused);
      expect(answer.message).toContain(field);
      expect(answer.message).not.toMatch(/canary|sha256:/);
    });

    it("can be replaced by what was read", async () => {
      const { by, path } = await make(stored);
      expect(await replace(by, path, (key) => key)).toMatchObject({ code: 200 });
    });

    it(`has a last applied configuration: ${relation === "child"}`, async () => {
      const { by, path } = await make(stored);
      const code = relation === "child" ? 200 : 403;
      expect(await merge(by, path, annotation(lastApplied))).toMatchObject({ code });
    });

    it.for<[string, object, readonly string[]]>([
      ["live", {}, ["child", "other"]],
      ["disabled", { disabled: true }, ["child"]],
    ])("can be deleted while it is %s only by what may", async ([, spec, allowed]) => {
      const { by, path } = await make({ ...stored, ...spec });
      const answer = await ask(by, { method: "DELETE", path });
      expect(answer).toMatchObject(allowed.includes(relation) ? { code: 200 } : refused);
    });
  });

  it("another key cannot be deleted once its status says Expired", async () => {
    const { by, path } = await relations.other(stored);
    const condition = {
      type: "Expired",
      status: "True",
      reason: "Expired",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const controller = { ...latchkeyAccount("latchkey-controller"), groups: root.groups };
    const expired = { status: { conditions: [condition] } };
    expect(await merge(controller, `${path}/status`, expired)).toMatchObject({ code: 200 });
    const answer = await ask(by, { method: "DELETE", path });
    expect(answer).toMatchObject(answered(403, "disabled or expired"));
  });

  it("keys cannot be deleted as a collection", async () => {
    const name = unique("together");
    const path = await made(collection, keyOf(stored, { labels: { name } }));
    const together = {
      method: "DELETE",
      path: `${collection}?labelSelector=name%3D${name}`,
    } as const;
    expect(await ask(withKey(root, "k-18"), together)).toMatchObject(
      answered(403, "in a collection; name each key"),
    );
    expect(await api.get(path)).toMatchObject({ metadata: { labels: { name } } });
    expect(await ask(root, together)).toMatchObject({ code: 200 });
  });

  it("nobody becomes the requester of a key", async () => {
    const { by, path } = await relations.child(stored);
    const { annotations: before } = (await api.get(path)).metadata;
    await merge(by, path, { metadata: { annotations: { [annotations.requester]: "eve" } } });
    expect((await api.get(path)).metadata.annotations).toEqual(before);
  });
});

withPolicies("a user who may patch and delete keys, and update only some,", () => {
  const carol: Caller = { user: unique("carol") };
  const spec = { user: carol.user, ttl: 3600, key: digest("a") };
  const [mine, updatable] = [unique("mine"), unique("updatable")];

  beforeAll(async () => {
    await grantUser(
      carol,
      "create,patch,delete management.service ownedaccesskeys",
      `update management.service ownedaccesskeys ${updatable}`,
    );
    for (const name of [mine, updatable]) await create(carol, collection, keyOf(spec, { name }));
  });

  const pipeline = withKey(carol, "k-20");
  const path = (name: string): string => `${collection}/${name}`;
  const disabling = { spec: { disabled: true } };

  it("disables and deletes others with a key only where it may update them", async () => {
    const needed = answered(403, "this requires the verb update on it, too");
    expect(await merge(pipeline, path(mine), disabling)).toMatchObject(needed);
    expect(await ask(pipeline, { method: "DELETE", path: path(mine) })).toMatchObject(needed);
    const shorter = { spec: { ttl: 60 } };
    expect(await merge(pipeline, path(updatable), shorter)).toMatchObject({ code: 200 });
    expect(await ask(pipeline, { method: "DELETE", path: path(updatable) })).toMatchObject({
      code: 200,
    });
  });

  it("may do with a key no more than with a login", async () => {
    for (const by of [carol, pipeline])
      expect(await merge(by, path(mine), { spec: { scope: {} } })).toMatchObject({ code: 403 });
    expect(await merge(carol, path(mine), disabling)).toMatchObject({ code: 200 });
  });
});

withPolicies("a key that was disabled by hand and is applied from Git", () => {
  const applied = { ...stored, scope: undefined, ttlAfterLastActivity: false };

  /** Applied without `disabled`, which an administrator has set. */
  async function disabledKey(): Promise<Asked> {
    const [key, by] = [keyOf(applied), withKey(root, "k-18")];
    const path = `${collection}/${key.metadata.name}`;
    expect(await apply(root, path, key)).toMatchObject({ code: 201 });
    expect(await merge(root, path, { spec: { disabled: true } })).toMatchObject({ code: 200 });
    return { by, path };
  }

  const apply = (by: Caller, path: string, body: object): Promise<Answer> =>
    ask(by, {
      method: "PATCH",
      path: `${path}?fieldManager=argocd-controller&force=true`,
      type: patchTypes.apply,
      body,
    });

  async function appliedAgain(path: string): Promise<unknown> {
    const { metadata } = await api.get(path);
    const name = String(metadata.name);
    expect(await apply(root, path, keyOf(applied, { name }))).toMatchObject({ code: 200 });
    return (await arrange({ method: "GET", path })).spec;
  }

  const owners = answered(403, "metadata.managedFields (the owners of spec.disabled)");
  it.for<[string, (asked: Asked) => Promise<Answer>]>([
    [
      "by an apply in the name of the tool",
      async ({ by, path }) =>
        apply(by, path, keyOf({ ...applied, disabled: true }, { name: nameIn(path) })),
    ],
    [
      "by an apply in another name",
      async ({ by, path }) =>
        forceApply(by, path, keyOf({ ...applied, disabled: true }, { name: nameIn(path) })),
    ],
    [
      "by managedFields without owners",
      async ({ by, path }) => merge(by, path, { metadata: { managedFields: [{}] } }),
    ],
    [
      "by managedFields without the owner of the field",
      async ({ by, path }) =>
        replace(by, path, ({ metadata, ...key }) => ({
          ...key,
          metadata: {
            ...metadata,
            managedFields: listAt(metadata, "managedFields").filter(
              (entry) => stringAt(entry, "operation") === "Apply",
            ),
          },
        })),
    ],
  ])("stays disabled at the next apply: %s", async ([, attack]) => {
    const asked = await disabledKey();
    expect(await attack(asked)).toMatchObject(owners);
    expect(await appliedAgain(asked.path)).toMatchObject({ disabled: true });
  });

  it("can be described with a key", async () => {
    const { by, path } = await disabledKey();
    expect(await merge(by, path, { spec: { description: "leaked" } })).toMatchObject({ code: 200 });
    expect(await appliedAgain(path)).toMatchObject({ disabled: true });
  });
});

const nameIn = (path: string): string => path.slice(collection.length + 1);

withPolicies("the gateway", () => {
  const gateway: Caller = {
    user: "system:serviceaccount:latchkey-system:latchkey-gateway",
    groups: ["system:serviceaccounts", "system:masters"],
  };

  it.for<[string, object, object]>([
    ["disabling it", {}, { disabled: true }],
    ["a shorter ttl", {}, { ttl: 60 }],
    ["a fixed end", {}, { ttlAfterLastActivity: false, ttl: 60 }],
  ])("may end a key by %s", async ([, before, spec]) => {
    const path = await made(collection, keyOf({ ...stored, ...before }));
    const { uid } = (await api.get(path)).metadata;
    expect(await merge(gateway, path, { metadata: { uid }, spec })).toMatchObject({ code: 200 });
    const other = { metadata: { uid: gone.uid }, spec: { disabled: true } };
    expect(await merge(gateway, path, other)).toMatchObject({ code: 422 });
  });

  it.for<[string, object, object]>([
    ["enable", { disabled: true }, { spec: { disabled: false } }],
    ["prolong", {}, { spec: { ttl: 7200 } }],
    ["describe", {}, { spec: { displayName: "mine" } }],
    ["narrow", {}, { spec: { scope: { projects: [] } } }],
    ["label", {}, { metadata: { labels: { a: "b" } } }],
    ["annotate", {}, { metadata: { annotations: { a: "b" } } }],
    [
      "disable and annotate",
      {},
      { metadata: { annotations: { a: "b" } }, spec: { disabled: true } },
    ],
    ["hold", {}, { metadata: { finalizers: ["a.example/b"] } }],
  ])("may not %s a key", async ([, before, patch]) => {
    const path = await made(collection, keyOf({ ...stored, ...before }));
    expect(await merge(gateway, path, patch)).toMatchObject(
      answered(403, "the gateway may only disable an access key and end it earlier"),
    );
  });

  it("may neither create nor delete a key", async () => {
    const path = await made(collection, keyOf(stored));
    const only = answered(403, "the gateway may only disable an access key and end it earlier");
    expect(await ask(gateway, { method: "DELETE", path })).toMatchObject(only);
    expect(await create(gateway, collection, keyOf({ key: digest("c") }))).toMatchObject(only);
  });
});
