import { beforeAll, expect, it } from "vitest";
import {
  answered,
  type Answer,
  arrange,
  ask,
  bind,
  type Caller,
  patchTypes,
  replace,
  unique,
} from "../support/policy-request.ts";
import {
  collectionOf,
  create,
  digest,
  dryCreate,
  forceApply,
  gone,
  grantGroup,
  grantUser,
  keyOf,
  merge,
  root,
  withKey,
  withPolicies,
} from "./policy-fixture.ts";

const collection = collectionOf("ownedaccesskeys");
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

const many = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `group-${index}`);
const dryKey = (by: Caller, spec: object): Promise<Answer> =>
  dryCreate(by, collection, keyOf(spec));

beforeAll(async () => {
  await bind({ kind: "Group", name: minters }, "latchkey-requester");
  await grantGroup(minters, "get,update,patch,delete management.service ownedaccesskeys");
  await grantGroup(minters, "update,patch management.service ownedaccesskeys/status");
  await grantUser(deputy, `impersonate core users ${bob.user}`, "impersonate core groups finance");
  await grantUser(director, "impersonate core groups");
});

withPolicies("a key can be created", () => {
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
    expect(await dryKey(by, spec)).toMatchObject({ code: 201 });
  });

  const asBob = `users "${bob.user}"`;
  const finance = (count: number) => Array.from({ length: count }, () => "finance");
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
      { user: deputy.user, groups: [...finance(15), "board"] },
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
      { user: deputy.user, groups: finance(17) },
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
    const answer = await dryKey(by, { key: digest("c"), ...spec });
    expect(answer).toMatchObject(answered(403, refusal));
    expect(answer.message).toContain("latchkey-mint-guard");
    expect(answer.message).not.toContain(digest("c"));
  });

  it("not for another user with a generated name", async () => {
    const { metadata: _, ...key } = keyOf({ user: bob.user });
    const generated = { ...key, metadata: { generateName: "mint-" } };
    expect(await dryCreate(alice, collection, generated)).toMatchObject(answered(403, asBob));
  });

  it("not for another user by server-side apply", async () => {
    const key = keyOf({ user: bob.user });
    const answer = await forceApply(alice, `${collection}/${key.metadata.name}`, key);
    expect(answer).toMatchObject(answered(403, asBob));
  });
});

withPolicies("a user who authenticated with a key", () => {
  const rootKey = withKey(root, "k-17");
  const ofOps = withKey(alice, "k-17");
  const asTeamOps: Caller = { ...ofOps, user: "management.service:team:ops" };

  it.for<[string, Caller, object]>([
    ["another user", rootKey, { user: bob.user }],
    ["another subject", rootKey, { subject: bob.user }],
    ["a group that it is not a member of", rootKey, { user: "root", groups: ["finance"] }],
    [
      "a group of an identity that it is not a member of",
      rootKey,
      { user: "root", identity: { groups: ["finance"] } },
    ],
    ["another team", rootKey, { team: "finance" }],
    ["the team of a group that it is a member of", ofOps, { team: "ops" }],
    ["a team other than its own", asTeamOps, { team: "devs" }],
  ])("cannot create a key for %s, even if allowed to impersonate", async ([, by, spec]) => {
    const answer = await dryKey(by, spec);
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
    ["no user, team or subject", rootKey, {}],
  ])("can create a key for %s", async ([, by, spec]) => {
    expect(await dryKey(by, spec)).toMatchObject({ code: 201 });
  });
});

withPolicies("the requester of a key, who may patch but not update it,", () => {
  const carol: Caller = { user: unique("carol") };
  const spec = { user: carol.user, key: digest("a"), ttl: 3600, disabled: true };
  const other = "example.com/other";
  const own = async (changes: object = {}): Promise<string> => {
    const name = unique("own");
    const path = `${collection}/${name}`;
    await grantUser(
      carol,
      // The first rule is waited for, and every key needs this one anew.
      `get,list,watch,delete,patch management.service ownedaccesskeys ${name}`,
      "create management.service ownedaccesskeys",
    );
    const key = keyOf({ ...spec, ...changes }, { name, finalizers: [other] });
    expect(await create(carol, collection, key)).toMatchObject({ code: 201 });
    return path;
  };

  it.for<[string, object, object]>([
    ["disable it", { disabled: false }, { spec: { disabled: true } }],
    ["give it a shorter ttl", {}, { spec: { ttl: 60 } }],
    ["give it a ttl if it has none", { ttl: 0 }, { spec: { ttl: 60 } }],
    ["describe it", {}, { spec: { displayName: "old", description: "leaked" } }],
    ["label it", {}, { metadata: { labels: { a: "b" } } }],
  ])("can %s", async ([, before, change]) => {
    expect(await merge(carol, await own(before), change)).toMatchObject({ code: 200 });
  });

  it.for<[string, object, string]>([
    ["enable it again", { spec: { disabled: false } }, "spec.disabled"],
    ["give it a longer ttl", { spec: { ttl: 7200 } }, "spec.ttl"],
    ["change its key", { spec: { key: digest("b") } }, "spec.key"],
    ["change its scope", { spec: { scope: {} } }, "spec.scope"],
    ["remove its finalizers", { metadata: { finalizers: null } }, "metadata.finalizers"],
    ["give it an owner", { metadata: { ownerReferences: [gone] } }, "metadata.ownerReferences"],
  ])("cannot %s", async ([, change, field]) => {
    expect(await merge(carol, await own(), change)).toMatchObject(
      answered(403, `${carol.user} may not change ${field} of OwnedAccessKey own-`),
    );
  });
});

withPolicies("a key of bob", () => {
  const spec = {
    user: bob.user,
    key: "canary-key-of-bob",
    ttl: 3600,
    ttlAfterLastActivity: true,
    disabled: true,
    groups: ["finance"],
    scope: { projects: [{ project: "web" }] },
  };

  async function bobs(changes: object = {}, by: Caller = root): Promise<string> {
    const answer = await create(by, collection, keyOf({ ...spec, ...changes }));
    expect(answer).toMatchObject({ code: 201 });
    return `${collection}/${answer.metadata.name}`;
  }
  const change = (by: Caller, path: string, to: object): Promise<Answer> =>
    merge(by, path, { spec: to });

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
  it.for(gains)("cannot get %s from alice", async ([, to, field]) => {
    const path = await bobs();
    const answer = await change(alice, path, to);
    expect(answer).toMatchObject(answered(403, field));
    expect(answer.message).toMatch(new RegExp(`users "${bob.user}"|"root" created it`));
    expect(answer.message).not.toMatch(/canary|sha256:[0-9a-f]/);
  });

  it.for(gains)("can get %s from a user who may impersonate bob", async ([, to]) => {
    // Some of these changes involve alice or her group: only an administrator may impersonate both.
    const by = "user" in to ? root : deputy;
    const path = await bobs({}, by);
    expect(await change(by, path, to)).toMatchObject({ code: 200 });
  });

  it.for<[string, object, object]>([
    ["by ttlAfterLastActivity", { ttlAfterLastActivity: false }, { ttlAfterLastActivity: true }],
    [
      "by ttlAfterLastActivity without a ttl",
      { ttl: 0, ttlAfterLastActivity: false },
      { ttlAfterLastActivity: true },
    ],
    ["by a ttl, if only the configured maximum limited its lifetime", { ttl: 0 }, { ttl: 60 }],
  ])("cannot restart its lifetime at each use %s from alice", async ([, before, to]) => {
    const path = await bobs(before);
    expect(await change(alice, path, to)).toMatchObject(answered(403, "spec.ttl"));
  });

  const anotherKey = { spec: { key: digest("a") } };
  it.for<[string, (path: string) => Promise<Answer>]>([
    [
      "a JSON patch",
      (path) => {
        const body = [{ op: "replace", path: "/spec/key", value: digest("a") }];
        return ask(alice, { method: "PATCH", type: patchTypes.json, path, body });
      },
    ],
    [
      "a forced server-side apply of another field manager",
      (path) => {
        const { apiVersion, kind } = keyOf({});
        return forceApply(alice, path, { apiVersion, kind, ...anotherKey });
      },
    ],
    [
      "a replace",
      (path) => replace(alice, path, (key) => ({ ...key, spec: { ...spec, ...anotherKey.spec } })),
    ],
  ])("cannot get another key by %s from alice", async ([, write]) => {
    expect(await write(await bobs())).toMatchObject(answered(403, "spec.key"));
  });

  it("cannot be changed by alice through its status", async () => {
    const path = await bobs();
    await change(alice, `${path}/status`, { key: digest("a") });
    expect((await arrange({ method: "GET", path })).spec).toMatchObject({ key: spec.key });
  });

  it.for<[string, object]>([
    ["disabled", { disabled: true }],
    ["given a shorter ttl", { ttl: 60 }],
    ["given a ttl that counts from its creation", { ttlAfterLastActivity: false }],
    ["described", { displayName: "Bob's", description: "of bob" }],
  ])("can be %s by alice, who gains no permissions by that", async ([, to]) => {
    const path = await bobs({ disabled: false });
    expect(await change(alice, path, to)).toMatchObject({ code: 200 });
  });

  it("can be labelled by alice", async () => {
    expect(await merge(alice, await bobs(), { metadata: { labels: { a: "b" } } })).toMatchObject({
      code: 200,
    });
  });

  it("can get a ttl if it has none", async () => {
    const path = await bobs({ ttl: 0, ttlAfterLastActivity: false });
    expect(await change(alice, path, { ttl: 60 })).toMatchObject({ code: 200 });
  });

  it("can be taken over by bob, unless it has a group that he is not a member of", async () => {
    const path = await bobs({ groups: ["finance", "devs"] });
    expect(await change(bob, path, { key: digest("e") })).toMatchObject(
      answered(403, 'groups "devs"'),
    );
    expect(await change(bob, path, { key: digest("e"), groups: ["finance"] })).toMatchObject({
      code: 200,
    });
  });
});
