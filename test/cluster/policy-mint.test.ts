import { beforeAll, describe, expect, inject, it } from "vitest";
import {
  allow,
  answered,
  arrange,
  ask,
  bind,
  patchTypes,
  replace,
  unique,
  type Answer,
  type Ask,
  type Caller,
} from "../support/policy-request.ts";

const collection = "/apis/management.service/v1/ownedaccesskeys";
const body = { apiVersion: "management.service/v1", kind: "OwnedAccessKey" };
const minters = unique("minters");
const named = (prefix: string, ...groups: readonly string[]) => ({
  user: unique(prefix),
  groups: [minters, ...groups],
});
const alice = named("alice", "devs", "ops");
const bob = named("bob", "finance");
/** May impersonate only bob and the group finance. */
const deputy = named("deputy");
/** May impersonate every group. */
const director = named("director");
const root: Caller = { user: "root", groups: ["system:masters"] };

const digest = (character: string): string => `sha256:${character.repeat(64)}`;
const many = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `group-${index}`);

beforeAll(async () => {
  await bind({ kind: "Group", name: minters }, "latchkey-requester");
  await allow({ kind: "Group", name: minters }, [
    {
      apiGroups: ["management.service"],
      resources: ["ownedaccesskeys"],
      verbs: ["get", "update", "patch", "delete"],
    },
  ]);
  await allow({ kind: "Group", name: minters }, [
    {
      apiGroups: ["management.service"],
      resources: ["ownedaccesskeys/status"],
      verbs: ["update", "patch"],
    },
  ]);
  const core = { apiGroups: [""], verbs: ["impersonate"] };
  await allow({ kind: "User", name: deputy.user }, [
    { ...core, resources: ["users"], resourceNames: [bob.user] },
    { ...core, resources: ["groups"], resourceNames: ["finance"] },
  ]);
  await allow({ kind: "User", name: director.user }, [{ ...core, resources: ["groups"] }]);
});

describe.skipIf(!inject("hasPolicies"))("a key can be created", () => {
  const make = (
    by: Caller,
    spec: object,
    metadata: object = { name: unique("mint") },
  ): Promise<Answer> =>
    ask(by, {
      method: "POST",
      path: `${collection}?dryRun=All`,
      body: { ...body, metadata, spec },
    });

  it.for<[string, Caller, object]>([
    ["for the requester", alice, { user: alice.user }],
    ["for the requester as a subject", alice, { subject: alice.user }],
    [
      "for the requester in the groups of the requester",
      alice,
      { user: alice.user, groups: ["devs"], identity: { groups: ["ops"] } },
    ],
    ["for a team that the requester is a member of", alice, { team: "ops" }],
    ["without user, team and subject", alice, { key: digest("a") }],
    [
      "for a user that the requester may impersonate",
      deputy,
      { user: bob.user, groups: ["finance"] },
    ],
    ["for a team whose group the requester may impersonate", deputy, { team: "finance" }],
    [
      "in many groups by a requester who may impersonate all groups",
      director,
      { user: director.user, groups: many(40) },
    ],
    [
      "in sixteen groups by a requester who may impersonate all groups",
      director,
      { user: director.user, groups: many(16) },
    ],
    [
      "for any user by an administrator",
      root,
      { user: bob.user, groups: ["finance", ...many(15)] },
    ],
  ])("%s", async ([, by, spec]) => {
    expect(await make(by, spec)).toMatchObject({ code: 201 });
  });

  const asBob = `users "${bob.user}"`;
  it.for<[string, Caller, object, string]>([
    ["for another user", alice, { user: bob.user }, asBob],
    ["for another user as a subject", alice, { subject: bob.user }, asBob],
    [
      "for a team that the requester is not a member of",
      alice,
      { team: "finance" },
      'groups "finance"',
    ],
    [
      "in a group that the requester is not a member of",
      alice,
      { user: alice.user, groups: ["devs", "finance"] },
      'groups "finance"',
    ],
    [
      "in a group of an identity that the requester is not a member of",
      alice,
      { user: alice.user, identity: { groups: ["finance"] } },
      'groups "finance"',
    ],
    [
      "in the last of sixteen groups that the requester is not a member of",
      deputy,
      { user: deputy.user, groups: [...Array.from({ length: 15 }, () => "finance"), "board"] },
      '"board"',
    ],
    [
      "in more than sixteen groups that the requester is not a member of",
      alice,
      { user: alice.user, groups: many(17) },
      "on all groups",
    ],
    [
      "in more than sixteen groups, even if the requester may impersonate each",
      deputy,
      { user: deputy.user, groups: Array.from({ length: 17 }, () => "finance") },
      "on all groups",
    ],
    [
      "in the group system:masters",
      alice,
      { user: alice.user, groups: ["system:masters"] },
      '"system:masters"',
    ],
    [
      "in the group system:masters by an administrator",
      root,
      { user: alice.user, groups: ["system:masters"] },
      '"system:masters"',
    ],
    [
      "for a user of Kubernetes",
      root,
      { user: "system:kube-controller-manager" },
      '"system:kube-controller-manager"',
    ],
    [
      "for a subject of Kubernetes",
      root,
      { subject: "system:serviceaccount:kube-system:default" },
      '"system:serviceaccount:kube-system:default"',
    ],
    ["for a team of Kubernetes", root, { team: "system:nodes" }, '"system:nodes"'],
    [
      "in a group of Kubernetes by its identity",
      root,
      { user: alice.user, identity: { groups: ["system:nodes"] } },
      '"system:nodes"',
    ],
  ])("never %s", async ([, by, spec, refusal]) => {
    const answer = await make(by, { key: digest("c"), ...spec });
    expect(answer).toMatchObject(answered(403, refusal));
    expect(answer.message).toContain("latchkey-mint-guard");
    expect(answer.message).not.toContain(digest("c"));
  });

  it("not for another user with a generated name", async () => {
    expect(await make(alice, { user: bob.user }, { generateName: "mint-" })).toMatchObject(
      answered(403, asBob),
    );
  });

  it("not for another user by server-side apply", async () => {
    const name = unique("mint");
    const path = `${collection}/${name}?fieldManager=test&force=true`;
    const answer = await ask(alice, {
      method: "PATCH",
      type: patchTypes.apply,
      path,
      body: { ...body, metadata: { name }, spec: { user: bob.user } },
    });
    expect(answer).toMatchObject(answered(403, asBob));
  });
});

describe.skipIf(!inject("hasPolicies"))("a user who authenticated with a key", () => {
  const withKey: Caller = { ...root, extra: { "management.service/key-id": ["k-17"] } };
  const refused = answered(403, "root authenticated with an access key");

  it("may create a key for itself and delete it, but not change it", async () => {
    const name = unique("mint");
    const path = `${collection}/${name}`;
    expect(
      await ask(withKey, {
        method: "POST",
        path: collection,
        body: { ...body, metadata: { name }, spec: { user: "root" } },
      }),
    ).toMatchObject({ code: 201 });
    expect(
      await ask(
        { ...root, extra: { "management.service/key-id": ["k-18"] } },
        { method: "DELETE", path },
      ),
    ).toMatchObject(refused);
    expect(
      await ask(withKey, {
        method: "PATCH",
        type: patchTypes.merge,
        path,
        body: { spec: { disabled: true } },
      }),
    ).toMatchObject(refused);
    expect(await ask(withKey, { method: "DELETE", path })).toMatchObject({ code: 200 });
  });

  const ofOps: Caller = { ...alice, extra: { "management.service/key-id": ["k-17"] } };
  const asTeamOps: Caller = { ...ofOps, user: "management.service:team:ops" };

  it.for<[string, Caller, object]>([
    ["another user", withKey, { user: bob.user }],
    ["another subject", withKey, { subject: bob.user }],
    ["a group that it is not a member of", withKey, { user: "root", groups: ["finance"] }],
    [
      "a group of an identity that it is not a member of",
      withKey,
      { user: "root", identity: { groups: ["finance"] } },
    ],
    ["another team", withKey, { team: "finance" }],
    ["the team of a group that it is a member of", ofOps, { team: "ops" }],
    ["a team other than its own", asTeamOps, { team: "devs" }],
  ])("cannot create a key for %s, even if allowed to impersonate", async ([, by, spec]) => {
    const answer = await ask(by, {
      method: "POST",
      path: `${collection}?dryRun=All`,
      body: { ...body, metadata: { name: unique("mint") }, spec },
    });
    expect(answer).toMatchObject(
      answered(
        403,
        "a request made with an access key may create keys only for its own identity and groups",
      ),
    );
  });

  it.for<[string, Caller, object]>([
    ["its user in a group of the key", ofOps, { user: alice.user, groups: ["ops"] }],
    ["its team", asTeamOps, { team: "ops", groups: ["devs"] }],
    ["no user, team or subject", withKey, {}],
  ])("can create a key for %s", async ([, by, spec]) => {
    const answer = await ask(by, {
      method: "POST",
      path: `${collection}?dryRun=All`,
      body: { ...body, metadata: { name: unique("mint") }, spec },
    });
    expect(answer).toMatchObject({ code: 201 });
  });

  it.for<[string, Omit<Ask, "path">]>([
    [
      "cannot change a key",
      { method: "PATCH", type: patchTypes.merge, body: { spec: { displayName: "mine" } } },
    ],
    [
      "cannot disable a key",
      { method: "PATCH", type: patchTypes.merge, body: { spec: { disabled: true } } },
    ],
    [
      "cannot label a key",
      { method: "PATCH", type: patchTypes.merge, body: { metadata: { labels: { a: "b" } } } },
    ],
    ["cannot delete a key that it did not create", { method: "DELETE" }],
  ])("%s", async ([, request]) => {
    const made = await arrange({
      method: "POST",
      path: collection,
      body: { ...body, metadata: { name: unique("mint") }, spec: { user: "root" } },
    });
    const path = `${collection}/${made.metadata.name}`;
    expect(await ask(withKey, { ...request, path })).toMatchObject(refused);
    expect(await ask(root, { ...request, path })).toMatchObject({ code: 200 });
  });
});

describe.skipIf(!inject("hasPolicies"))("a key of bob", () => {
  const spec = {
    user: bob.user,
    key: digest("b"),
    ttl: 3600,
    ttlAfterLastActivity: true,
    disabled: true,
    groups: ["finance"],
    scope: { projects: [{ project: "web" }] },
  };

  async function bobs(changes: object = {}, by: Caller = root): Promise<string> {
    const answer = await ask(by, {
      method: "POST",
      path: collection,
      body: { ...body, metadata: { name: unique("bobs") }, spec: { ...spec, ...changes } },
    });
    expect(answer).toMatchObject({ code: 201 });
    return `${collection}/${answer.metadata.name}`;
  }
  const merge = (change: object): Omit<Ask, "path"> => ({
    method: "PATCH",
    type: patchTypes.merge,
    body: { spec: change },
  });

  const gains: readonly (readonly [string, object, string])[] = [
    ["another key", { key: digest("a") }, "spec.key"],
    ["no key", { key: null }, "spec.key"],
    ["a longer lifetime", { ttl: 3601 }, "spec.ttl"],
    ["a lifetime without expiry", { ttl: 0 }, "spec.ttl"],
    ["a lifetime without a ttl", { ttl: null }, "spec.ttl"],
    ["a wider scope", { scope: { projects: [{ project: "*" }] } }, "spec.scope"],
    ["no scope", { scope: null }, "spec.scope"],
    ["disabled: false", { disabled: false }, "spec.disabled"],
    ["a spec without disabled", { disabled: null }, "spec.disabled"],
    ["another type", { type: "Service" }, "spec.type"],
    ["a parent", { parent: "other" }, "spec.parent"],
    ["an identity", { identity: { email: "alice@example.com" } }, "spec.identity"],
    ["another user", { user: alice.user }, "spec.user"],
    ["a team instead", { user: null, team: "devs" }, "spec.user"],
  ];
  it.for(gains)("cannot get %s from alice", async ([, change, field]) => {
    const path = await bobs();
    const answer = await ask(alice, { ...merge(change), path });
    expect(answer).toMatchObject(answered(403, field));
    expect(answer.message).toMatch(new RegExp(`users "${bob.user}"|"root" created it`));
    expect(answer.message).not.toMatch(/sha256:[0-9a-f]/);
  });

  it.for(gains)("can get %s from a user who may impersonate bob", async ([, change]) => {
    // Some of these changes involve alice or her group: only an administrator may impersonate both.
    const by = "user" in change ? root : deputy;
    const path = await bobs({}, by);
    expect(await ask(by, { ...merge(change), path })).toMatchObject({ code: 200 });
  });

  it.for<[string, object, object]>([
    ["by ttlAfterLastActivity", { ttlAfterLastActivity: false }, { ttlAfterLastActivity: true }],
    [
      "by ttlAfterLastActivity without a ttl",
      { ttl: 0, ttlAfterLastActivity: false },
      { ttlAfterLastActivity: true },
    ],
    ["by a ttl, if only the configured maximum limited its lifetime", { ttl: 0 }, { ttl: 60 }],
  ])("cannot restart its lifetime at each use %s from alice", async ([, before, change]) => {
    const path = await bobs(before);
    expect(await ask(alice, { ...merge(change), path })).toMatchObject(answered(403, "spec.ttl"));
  });

  it.for<[string, Omit<Ask, "path">, string]>([
    [
      "a JSON patch",
      {
        method: "PATCH",
        type: patchTypes.json,
        body: [{ op: "replace", path: "/spec/key", value: digest("a") }],
      },
      "",
    ],
    [
      "a forced server-side apply of another field manager",
      { method: "PATCH", type: patchTypes.apply, body: { ...body, spec: { key: digest("a") } } },
      "?fieldManager=other&force=true",
    ],
  ])("cannot get another key by %s from alice", async ([, request, query]) => {
    const path = await bobs();
    expect(await ask(alice, { ...request, path: `${path}${query}` })).toMatchObject(
      answered(403, "spec.key"),
    );
  });

  it("cannot get another spec.key by a replace from alice", async () => {
    const path = await bobs();
    const answer = await replace(alice, path, (object) => ({
      ...object,
      spec: { ...spec, key: digest("a") },
    }));
    expect(answer).toMatchObject(answered(403, "spec.key"));
  });

  it("cannot be changed by alice through its status", async () => {
    const path = await bobs();
    await ask(alice, { ...merge({ key: digest("a") }), path: `${path}/status` });
    expect((await arrange({ method: "GET", path })).spec).toMatchObject({ key: digest("b") });
  });

  it.for<[string, object]>([
    ["disabled", { disabled: true }],
    ["given a shorter ttl", { ttl: 60 }],
    ["given a ttl that counts from its creation", { ttlAfterLastActivity: false }],
    ["described", { displayName: "Bob's", description: "of bob" }],
  ])("can be %s by alice, who gains no permissions by that", async ([, change]) => {
    const path = await bobs({ disabled: false });
    expect(await ask(alice, { ...merge(change), path })).toMatchObject({ code: 200 });
  });

  it("can be labelled by alice", async () => {
    const path = await bobs();
    expect(
      await ask(alice, {
        method: "PATCH",
        type: patchTypes.merge,
        path,
        body: { metadata: { labels: { a: "b" } } },
      }),
    ).toMatchObject({ code: 200 });
  });

  it("can get a ttl if it has none", async () => {
    const path = await bobs({ ttl: 0, ttlAfterLastActivity: false });
    expect(await ask(alice, { ...merge({ ttl: 60 }), path })).toMatchObject({ code: 200 });
  });

  it("can be taken over by bob, unless it has a group that he is not a member of", async () => {
    const path = await bobs({ groups: ["finance", "devs"] });
    expect(await ask(bob, { ...merge({ key: digest("e") }), path })).toMatchObject(
      answered(403, 'groups "devs"'),
    );
    expect(
      await ask(bob, { ...merge({ key: digest("e"), groups: ["finance"] }), path }),
    ).toMatchObject({ code: 200 });
  });
});
