import { beforeAll, expect, it } from "vitest";
import { recordAt, stringsAt } from "../../src/api/parse.ts";
import { answered, bind, unique, type Answer, type Caller } from "../support/policy-request.ts";
import {
  collectionOf,
  dryCreate,
  manifest,
  requestedKinds,
  root,
  withKey,
  withPolicies,
} from "./policy-fixture.ts";

// The policies decide about a create without access key by a short expression. No other user may pass
// for such a user.
const ownName = (suffix: string) => `management.service/${suffix}`;
const requesters = unique("plain");
const everybody = "system:authenticated";
const bob = { user: "bob", uid: "815", groups: [requesters] };

beforeAll(() => bind({ kind: "Group", name: requesters }, "latchkey-requester"));

/** The annotations of a create by this user. */
const stampOf = ({ user = "", uid = "", groups = [] }: Caller): Record<string, string> => ({
  [ownName("requester")]: user,
  [ownName("requester-uid")]: uid,
  [ownName("requester-groups")]: [...groups, everybody].join("\n"),
});

const callers: readonly (readonly [who: string, caller: Caller])[] = [
  ["another user", { user: "alice", uid: "4711", groups: [requesters] }],
  ["a user of that name with another uid", { ...bob, uid: "816" }],
  ["a user of that name in another group", { ...bob, groups: [requesters, ...root.groups] }],
  ["an impersonated administrator", { ...root, uid: "1" }],
  [
    "a tenant's service account with the name of one of Latchkey's",
    {
      user: "system:serviceaccount:tenant:latchkey-controller",
      uid: "2",
      groups: ["system:serviceaccounts:latchkey-system", "system:masters"],
    },
  ],
];

withPolicies.each(requestedKinds)(
  "a create of $plural with the whole stamp of bob",
  ({ plural, kind }) => {
    const spec = kind === "OwnedAccessKey" ? { disabled: true } : { ttl: 600 };
    const create = (by: Caller, annotations: Record<string, string>): Promise<Answer> => {
      const metadata = { annotations, finalizers: [ownName("cleanup")] };
      return dryCreate(by, collectionOf(plural), manifest(kind, metadata, spec));
    };
    const written = ({ metadata }: Answer) =>
      Object.fromEntries(
        Object.entries(metadata.annotations ?? {}).filter(([name]) => /requester/.test(name)),
      );

    it.each(callers)("by %s gets the annotations of its user", async (_who, caller) => {
      const answer = await create(caller, stampOf(bob));
      expect(answer).toMatchObject({ code: 201 });
      expect(written(answer)).toEqual(stampOf(caller));
    });

    it("by bob keeps them", async () => {
      const answer = await create(bob, stampOf(bob));
      expect(answer).toMatchObject({ code: 201 });
      expect(written(answer)).toEqual(stampOf(bob));
      expect(stringsAt(recordAt(answer, "metadata"), "finalizers")).toEqual([ownName("cleanup")]);
    });

    it.each(["former-requester", "requester-key-id", "expired-at"])(
      "by bob with %s loses that annotation",
      async (name) => {
        const answer = await create(bob, { ...stampOf(bob), [ownName(name)]: "forged" });
        expect(answer).toMatchObject({ code: 201 });
        expect(answer.metadata.annotations).not.toHaveProperty([ownName(name)]);
        expect(written(answer)).toEqual(stampOf(bob));
      },
    );

    it("by bob with a start that is no time loses it", async () => {
      const answer = await create(bob, { ...stampOf(bob), [ownName("created-at")]: "forged" });
      expect(answer.metadata.annotations?.[ownName("created-at")]).not.toBe("forged");
    });

    it("with an access key of bob cannot be without the key's id", async () => {
      const answer = await create(withKey(bob, "k-17"), stampOf(bob));
      expect(answer).toMatchObject({ code: 201 });
      expect(written(answer)).toEqual({ ...stampOf(bob), [ownName("requester-key-id")]: "k-17" });
    });
  },
);

withPolicies("a key for the user itself", () => {
  const create = (by: Caller, spec: object): Promise<Answer> =>
    dryCreate(by, collectionOf("ownedaccesskeys"), manifest("OwnedAccessKey", {}, spec));
  const reserved = 'names that begin with "system:" are reserved';
  const impersonate = "requires the verb impersonate";

  it.each([
    "system:admin",
    "system:serviceaccount:tenant:latchkey-controller",
    "system:serviceaccount:latchkey-system:latchkey-controller",
  ])("is rejected for %s, even in system:masters", async (user) => {
    const answer = await create({ user, groups: ["system:masters"] }, { user });
    expect(answer).toMatchObject(answered(403, reserved));
  });

  it.each<[string, object, string]>([
    ["another user", { user: "alice" }, impersonate],
    ["a name that begins like the user's", { user: "bob2" }, impersonate],
    ["another subject", { user: "", subject: "alice" }, impersonate],
    ["a team", { user: "bob", team: "", groups: ["ops"] }, impersonate],
    ["a group of the login", { user: "bob", identity: { groups: ["ops"] } }, impersonate],
    ["a system group", { user: "bob", groups: ["system:masters"] }, reserved],
  ])("does not extend to %s", async (_, spec, why) => {
    expect(await create(bob, spec)).toMatchObject(answered(403, why));
  });
});
