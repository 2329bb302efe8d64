import { beforeAll, expect, it } from "vitest";
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
  dryCreate,
  grantGroup,
  grantUser,
  keyOf,
  merge,
  root,
  withKey,
  withPolicies,
} from "./policy-fixture.ts";

/*
 * Annotations that say which tokens stand for a key count as spec.key: each rule about spec.key is
 * played on them.
 */

const collection = collectionOf("ownedaccesskeys");
const label = (name: string): string => `management.service/${name}`;
const ruleOf = (claims: string | null, issuer: string | null = "https://oidc.example") => ({
  [label("issuer")]: issuer,
  [label("claims")]: claims,
});
const annotated = (annotations: object): object => ({ metadata: { annotations } });
const requesters = unique("requesters");
/** May create keys, and update those of this test. */
const alice: Caller = { user: unique("alice"), groups: [requesters] };
/** May update keys, and impersonate alice. */
const bob: Caller = { user: unique("bob"), groups: [requesters] };
/** May only patch keys, as the requester of a key may patch its own. */
const patcher: Caller = { user: unique("patcher"), groups: [unique("patchers")] };
const ends = "2030-01-01T00:00:00Z";

beforeAll(async () => {
  await bind({ kind: "Group", name: requesters }, "latchkey-requester");
  await grantGroup(requesters, "get,update,patch,delete management.service ownedaccesskeys");
  await grantGroup(
    patcher.groups?.[0] ?? "",
    "get,create,patch management.service ownedaccesskeys",
  );
  await grantUser(bob, `impersonate core users ${alice.user}`);
});

/** The path of a key that trusts tokens, of alice by default. */
async function trusting(by = alice): Promise<string> {
  const annotations = ruleOf("sub=main");
  const body = keyOf({ user: by.user }, { annotations, name: unique("rule") });
  const { code, metadata } = await create(by, collection, body);
  expect(code).toBe(201);
  return `${collection}/${metadata.name}`;
}

const requesterOf = async (path: string): Promise<unknown> =>
  (await arrange({ method: "GET", path })).metadata.annotations?.[label("requester")];

withPolicies("a key that trusts tokens", () => {
  it.for<[string, Caller, object, object, number, string]>([
    ["is created without spec.key", alice, {}, ruleOf("sub=main"), 201, ""],
    [
      "is not created with spec.key",
      alice,
      { key: digest("a") },
      ruleOf("sub=main"),
      403,
      "spec.key must be empty beside metadata.annotations[management.service/issuer]",
    ],
    [
      "is not created with half a rule",
      alice,
      {},
      { [label("issuer")]: "https://oidc.example" },
      403,
      "are set together when a key is created",
    ],
    [
      "is not created for another user",
      alice,
      { user: bob.user },
      ruleOf("sub=main"),
      403,
      "requires the verb impersonate on users",
    ],
    [
      "is not created with an access key",
      withKey(alice, "key-uid"),
      {},
      ruleOf("sub=main"),
      403,
      "a request made with an access key may not create a key that trusts tokens",
    ],
  ])("%s", async ([, by, spec, annotations, code, message]) => {
    const body = keyOf({ user: alice.user, ...spec }, { annotations });
    const answer = await dryCreate(by, collection, body);
    expect([answer.code, answer.message ?? ""]).toEqual([code, expect.stringContaining(message)]);
  });

  it("is changed by its requester, who stays it", async () => {
    const path = await trusting();
    expect(await merge(alice, path, annotated(ruleOf("sub=other")))).toMatchObject({ code: 200 });
    const moved = annotated(ruleOf("sub=other", "https://other.example"));
    expect(await merge(alice, path, moved)).toMatchObject({ code: 200 });
    expect(await requesterOf(path)).toBe(alice.user);
  });

  it("is restricted and described by its requester with patch alone", async () => {
    const path = await trusting();
    const change = { spec: { disabled: true }, ...annotated({ "example.com/a": "b" }) };
    expect(await merge(patcher, path, change)).toMatchObject({ code: 200 });
  });

  it.for<[string, Caller, object]>([
    ["by who may only patch it", patcher, annotated(ruleOf("sub=mine"))],
    ["in its issuer alone, by another user", bob, annotated(ruleOf("sub=main", "https://b"))],
    ["with an access key", withKey(alice, "key-uid"), annotated(ruleOf("sub=other"))],
    ["by taking out the claims", alice, annotated({ [label("claims")]: null })],
    ["by taking out the issuer", alice, annotated({ [label("issuer")]: null })],
    ["by taking out both", alice, annotated(ruleOf(null, null))],
    ["by an empty rule", alice, annotated(ruleOf("", ""))],
    ["by a key beside the rule", alice, { spec: { key: digest("a") } }],
    ["to another user at once", alice, { spec: { user: bob.user }, ...annotated(ruleOf("sub=b")) }],
    [
      "by the gateway",
      {
        user: "system:serviceaccount:latchkey-system:latchkey-gateway",
        groups: ["system:masters"],
      },
      annotated(ruleOf("sub=b")),
    ],
    [
      "by the controller",
      {
        user: "system:serviceaccount:latchkey-system:latchkey-controller",
        groups: ["system:masters"],
      },
      annotated(ruleOf("sub=main", "https://b")),
    ],
  ])("is not changed %s", async ([, by, change]) => {
    const path = await trusting();
    const before = await arrange({ method: "GET", path });
    expect(await merge(by, path, change)).toMatchObject({ code: 403 });
    const after = await arrange({ method: "GET", path });
    expect([after.metadata.annotations, after.spec]).toEqual([
      before.metadata.annotations,
      before.spec,
    ]);
  });

  it("is not changed by its requester without the verb update", async () => {
    const path = await trusting(patcher);
    expect(await merge(patcher, path, annotated(ruleOf("sub=other")))).toMatchObject(
      answered(403, "other changes require the verb update on the key"),
    );
  });

  it("is taken over with other claims, by who may act as its user", async () => {
    const path = await trusting();
    expect(await merge(bob, path, annotated(ruleOf("sub=mine")))).toMatchObject({ code: 200 });
    expect(await requesterOf(path)).toBe(bob.user);
  });

  it("is not taken over by who may not act as its user", async () => {
    const carol = { user: unique("carol"), groups: [requesters] };
    const path = await trusting();
    expect(await merge(carol, path, annotated(ruleOf("sub=mine")))).toMatchObject(
      answered(403, "requires the verb impersonate on users"),
    );
    expect(await requesterOf(path)).toBe(alice.user);
  });

  it("gets a key in place of the rule", async () => {
    const path = await trusting();
    const change = { spec: { key: digest("b") }, ...annotated(ruleOf(null, null)) };
    expect(await merge(alice, path, change)).toMatchObject({ code: 200 });
  });
});

withPolicies("a key with spec.key", () => {
  const keyed = async (): Promise<string> => {
    const body = keyOf({ user: alice.user, key: digest("a") }, { name: unique("keyed") });
    const { metadata } = await create(alice, collection, body);
    return `${collection}/${metadata.name}`;
  };

  it.for<[string, Caller]>([
    ["by its requester", alice],
    ["by another user", bob],
    ["by who may only patch it", patcher],
    ["by an administrator", root],
  ])("gets no rule %s", async ([, by]) => {
    const path = await keyed();
    for (const change of [
      annotated(ruleOf("sub=main")),
      { spec: { key: "" }, ...annotated(ruleOf("sub=main")) },
      { spec: { key: null }, ...annotated(ruleOf("sub=main")) },
      annotated({ [label("claims")]: "sub=main" }),
    ])
      expect((await merge(by, path, change)).code).toBe(403);
    expect(await requesterOf(path)).toBe(alice.user);
  });
});

withPolicies("a request with a token of an issuer", () => {
  const withToken = (caller: Caller): Caller => ({
    ...caller,
    extra: { [label("key-id")]: ["key-uid"], [label("credential-ends")]: [ends] },
  });
  const create600 = (by: Caller, metadata: object = {}): Promise<Answer> =>
    create(by, collectionOf("directclusterendpointtokens"), {
      ...keyOf({ ttl: 600 }, metadata),
      kind: "DirectClusterEndpointToken",
    });

  it("makes no key", async () => {
    const body = keyOf({ user: alice.user, key: digest("a") });
    expect(await dryCreate(withToken(alice), collection, body)).toMatchObject(
      answered(403, "a request made with a token of an issuer may not create an access key"),
    );
  });

  it("makes a direct token that says when it ends, and keeps it", async () => {
    const forged = { annotations: { [label("credential-ends")]: "2040-01-01T00:00:00Z" } };
    const { code, metadata } = await create600(withToken(alice), forged);
    expect([code, metadata.annotations?.[label("credential-ends")]]).toEqual([201, ends]);
    const path = `${collectionOf("directclusterendpointtokens")}/${metadata.name}`;
    await merge(root, path, annotated({ [label("credential-ends")]: null }));
    const { metadata: after } = await arrange({ method: "GET", path });
    expect(after.annotations?.[label("credential-ends")]).toBe(ends);
  });

  it("is known by its end, which a restore keeps and no other text replaces", async () => {
    const kept = await create600(alice, { annotations: { [label("credential-ends")]: ends } });
    expect(kept.metadata.annotations?.[label("credential-ends")]).toBe(ends);
    const other = await create600(alice, { annotations: { [label("credential-ends")]: "never" } });
    expect(other.metadata.annotations?.[label("credential-ends")]).toBeUndefined();
  });
});
