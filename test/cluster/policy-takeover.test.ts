import { beforeAll, expect, inject, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import {
  answered,
  arrange,
  bind,
  unique,
  type Answer,
  type Caller,
} from "../support/policy-request.ts";
import {
  collectionOf,
  create,
  digest,
  forceApply,
  grantGroup,
  grantUser,
  manifest,
  merge,
  withPolicies,
} from "./policy-fixture.ts";

const collection = collectionOf("ownedaccesskeys");
const requester = "management.service/requester";

/** May only create keys. */
const bob: Caller = { user: unique("bob"), groups: [unique("requesters")] };
/** Applies keys for the user ci-admin, like the account of a deployment tool. */
const deployer = { user: unique("deployer"), uid: "d-1", groups: [unique("deployers")] };
/** May update keys and impersonate any user, and has not created any. */
const other = { user: unique("other"), groups: deployer.groups };
const ciAdmin = unique("ci-admin");

beforeAll(async () => {
  await bind({ kind: "Group", name: bob.groups?.[0] ?? "" }, "latchkey-requester");
  const [group = ""] = deployer.groups;
  const keys = "get,create,update,patch management.service ownedaccesskeys";
  await grantGroup(group, keys, "impersonate core users,groups");
});

/** The name of an object that bob has created. */
async function squatted(spec: object = {}, by = bob): Promise<string> {
  const name = unique("deploy-prod");
  const body = manifest("OwnedAccessKey", { name }, { key: "the-key-that-bob-knows", ...spec });
  await eventually(async () => (await create(by, collection, body)).code === 201, {
    what: "the object to be made",
  });
  return name;
}

const apply = (by: Caller, name: string, spec: object): Promise<Answer> =>
  forceApply(by, `${collection}/${name}`, manifest("OwnedAccessKey", { name }, spec));

const stored = (name: string): Promise<Answer> =>
  arrange({ method: "GET", path: `${collection}/${name}` });

withPolicies("a user who created a key with the name that another user needs", () => {
  it.for<[string, object, object]>([
    ["only the user", {}, { user: ciAdmin }],
    ["the user and a plain key", {}, { user: ciAdmin, key: "the-key-of-the-deployer" }],
    [
      "groups and the same digest that is stored",
      { user: bob.user, key: digest("a") },
      { user: bob.user, key: digest("a"), groups: ["admins"] },
    ],
    ["only a plain key", { user: bob.user }, { key: "the-key-of-the-deployer" }],
    ["the subject", {}, { subject: ciAdmin }],
    ["the team", {}, { team: ciAdmin }],
    ["groups", { user: bob.user }, { groups: ["admins"] }],
    ["groups of an identity", { user: bob.user }, { identity: { groups: ["admins"] } }],
  ])("gains nothing if a deployer applies %s", async ([, spec, applied]) => {
    const name = await squatted(spec);
    const before = await stored(name);
    const answer = await apply(deployer, name, applied);
    expect(answer).toMatchObject(
      answered(
        403,
        `"${bob.user}" created it and may know its key; take it over by setting spec.key to a new digest`,
      ),
    );
    expect(answer.message).not.toMatch(/the-key-of|sha256:[a-z]/);
    expect((await stored(name)).spec).toEqual(before.spec);
  });

  it("loses the object to the user who applies a new digest", async () => {
    const aTime: unknown = expect.any(String);
    const begun = inject("isStampedByWebhook") && { "management.service/created-at": aTime };
    const [name, key] = [await squatted(), digest("a")];
    const answer = await apply(deployer, name, { user: ciAdmin, key });
    expect(answer).toMatchObject({ code: 200, spec: { user: ciAdmin, key } });
    expect(answer.metadata.annotations).toEqual({
      ...begun,
      [requester]: deployer.user,
      [`${requester}-uid`]: deployer.uid,
      [`${requester}-groups`]: `${deployer.groups[0]}\nsystem:authenticated`,
      "management.service/former-requester": bob.user,
    });
    expect(await apply(deployer, name, { user: ciAdmin, key, groups: ["admins"] })).toMatchObject({
      code: 200,
    });
  });

  it("cannot read a plain key that the new requester sets while the old grant may exist", async () => {
    const name = await squatted();
    expect(await apply(deployer, name, { user: ciAdmin, key: digest("b") })).toMatchObject({
      code: 200,
    });
    expect(
      await apply(deployer, name, { user: ciAdmin, key: "the-key-of-the-deployer" }),
    ).toMatchObject(answered(403, `"${bob.user}" can read it until`));
  });

  it("is named in a warning to other users who change the object", async () => {
    const name = await squatted();
    const warned = (part: string) => ({ code: 200, warnings: [expect.stringContaining(part)] });
    expect(await apply(deployer, name, { displayName: "mine" })).toMatchObject(
      warned(`"${name}" was created by "${bob.user}", who may know its key`),
    );
    expect(await apply(deployer, name, { user: ciAdmin, key: digest("b") })).toMatchObject(
      warned(`you take over OwnedAccessKey "${name}" from "${bob.user}"`),
    );
    // kube-apiserver may decide by an older object of its cache first, and keeps that warning.
    await eventually(
      async () => {
        const own = { user: ciAdmin, key: digest("b"), displayName: "mine" };
        const { code, warnings } = await apply(deployer, name, own);
        return code === 200 && warnings?.length === 0;
      },
      { what: "no warning to the user who has taken it over" },
    );
  });
});

withPolicies("taking a key over", () => {
  it("requires permission to impersonate the former user of the key", async () => {
    const plain: Caller = { user: unique("plain"), groups: [unique("updaters")] };
    await grantUser(plain, "create,update,patch management.service ownedaccesskeys");
    const name = await squatted({ user: ciAdmin, key: digest("a") }, deployer);
    expect(await apply(plain, name, { user: plain.user, key: digest("b") })).toMatchObject(
      answered(403, `impersonate on users "${ciAdmin}"`),
    );
    expect((await stored(name)).metadata.annotations).toMatchObject({ [requester]: deployer.user });
  });

  it("leaves no permissions to the former requester", async () => {
    const name = await squatted({ user: ciAdmin, key: digest("a") }, deployer);
    expect(await apply(other, name, { user: ciAdmin, key: digest("b") })).toMatchObject({
      code: 200,
    });
    expect(
      await apply(deployer, name, { user: ciAdmin, key: "the-key-of-the-deployer" }),
    ).toMatchObject(answered(403, `"${other.user}" created it`));
    expect((await stored(name)).metadata.annotations).toMatchObject({
      [requester]: other.user,
      "management.service/former-requester": deployer.user,
    });
  });

  it("does not happen when another user changes ttl, scope or disabled", async () => {
    const name = await squatted({ user: ciAdmin, key: digest("a"), ttl: 60 }, deployer);
    expect(
      await apply(other, name, { ttl: 120, scope: { projects: [{ project: "web" }] } }),
    ).toMatchObject({ code: 200 });
    expect(await apply(other, name, { disabled: true })).toMatchObject({ code: 200 });
    expect((await stored(name)).metadata.annotations).toMatchObject({ [requester]: deployer.user });
  });

  it("is not possible by writing annotations", async () => {
    const name = await squatted({ user: ciAdmin, key: digest("a") }, deployer);
    const annotations = {
      [requester]: other.user,
      "management.service/former-requester": deployer.user,
    };
    const answer = await merge(other, `${collection}/${name}`, { metadata: { annotations } });
    expect(answer).toMatchObject({ code: 200 });
    expect(answer.metadata.annotations).toMatchObject({ [requester]: deployer.user });
    expect(answer.metadata.annotations).not.toHaveProperty("management.service/former-requester");
  });
});
