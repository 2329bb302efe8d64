import { describe, expect, test } from "vitest";
import type { AdmissionRequest } from "../../src/api/admission-review.ts";
import { annotations } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import type { ResolvedKey } from "../../src/domain/access-key/key-state.ts";
import { storedDigest } from "../../src/tokens/access-key.ts";
import {
  defaultKey,
  enforceQuota,
  newKeyOnTakeOver,
  rejectDuplicateKey,
} from "../../src/webhooks/key-admission.ts";
import { boundDigest, sha256 } from "../support/bound-digest.ts";
import { observedMetadata } from "../support/observed-objects.ts";
import { fakeAdmissionContext, resolvedKeyWith } from "../support/review-fixture.ts";

const plain = "a-plain-key-of-alice";
const index = sha256(plain).slice(0, 16);
const bound = (subject: string): string => boundDigest(plain, subject);

interface StoredKey {
  readonly name?: string;
  readonly key?: string;
  readonly user?: string;
  readonly requester?: string;
  readonly createdAt?: string;
}

function storedKey({
  name = "held",
  key = plain,
  user = "alice",
  requester = "alice",
  createdAt = "2026-01-01T00:00:00Z",
}: StoredKey = {}): ResolvedKey {
  const view = resolvedKeyWith({ user });
  const metadata = observedMetadata({
    name,
    uid: `uid-${name}`,
    creationTimestamp: createdAt,
    annotations: { [annotations.requester]: requester },
  });
  return { ...view, key: { ...view.key, metadata, keyDigest: storedDigest(new SecretText(key)) } };
}

function request(
  spec: object,
  {
    username = "mallory",
    uid,
    stored,
  }: { readonly username?: string; readonly uid?: string; readonly stored?: object } = {},
): AdmissionRequest {
  const object = { metadata: { name: "sent", ...(uid === undefined ? {} : { uid }) }, spec };
  return {
    uid: "r",
    user: { username, uid: "", groups: [], extra: {} },
    isDryRun: false,
    namespace: "",
    object,
    oldObject: stored === undefined ? undefined : { ...object, spec: stored },
  };
}

/**
 * The outcome of a request with these existing objects, and whether the API server was asked who
 * may read them.
 */
async function outcome(sent: AdmissionRequest, views: readonly ResolvedKey[], mayRead = false) {
  const asked: unknown[] = [];
  const review = async (_resource: unknown, spec: unknown): Promise<unknown> => {
    asked.push(spec);
    return { status: { allowed: mayRead } };
  };
  const accessKeys = {
    ofIndex: (named: string) => (named === index ? views.map(({ key }) => key) : []),
    byId: (uid: string) => views.find(({ key }) => key.metadata.uid === uid),
  };
  const client = { review, create: async () => ({}) };
  const context = fakeAdmissionContext({ accessKeys, client });
  return { ruling: await rejectDuplicateKey(sent, context), asked };
}

const refusal = {
  kind: "refused",
  code: 422,
  message: expect.stringContaining("already has this key"),
};

describe("an error about a key that another object has", () => {
  test.each<[string, object]>([
    ["a plain key", { user: "mallory", key: plain }],
    ["a bound digest", { user: "alice", key: bound("user:alice") }],
  ])("is hidden from users who may not read that object: %s is stored", async (_what, spec) => {
    const { ruling, asked } = await outcome(request(spec), [
      storedKey({ key: bound("user:alice") }),
    ]);
    expect(ruling).toMatchObject({ kind: "admitted" });
    expect(asked).toMatchObject([
      {
        user: "mallory",
        resourceAttributes: {
          verb: "get",
          group: "management.service",
          resource: "ownedaccesskeys",
          name: "held",
        },
      },
    ]);
  });

  test("is returned to users who may read that object", async () => {
    expect(
      (await outcome(request({ user: "mallory", key: plain }), [storedKey()], true)).ruling,
    ).toMatchObject(refusal);
  });

  test("is returned to its requester without a SubjectAccessReview", async () => {
    expect(
      await outcome(request({ user: "alice", key: plain }, { username: "alice" }), [storedKey()]),
    ).toMatchObject({ ruling: refusal, asked: [] });
  });

  test("contains no key, digest or name", async () => {
    const { ruling } = await outcome(request({ key: plain }), [storedKey()], true);
    expect(JSON.stringify(ruling)).not.toMatch(new RegExp(`${plain}|${index}|held"`));
  });
});

describe("a bound digest", () => {
  test.each<[string, object, ResolvedKey, boolean]>([
    [
      "is a duplicate of the same digest for the same user",
      { user: "alice", key: bound("user:alice") },
      storedKey({ key: bound("user:alice") }),
      false,
    ],
    [
      "is no duplicate if it was copied for another user",
      { user: "mallory", key: bound("user:alice") },
      storedKey({ key: bound("user:alice") }),
      true,
    ],
    [
      "is no duplicate of a plain key, whose author may know it from another place",
      { user: "alice", key: bound("user:alice") },
      storedKey({ requester: "mallory", user: "mallory" }),
      true,
    ],
    [
      "is a duplicate of the same plain key",
      { user: "bob", key: plain },
      storedKey({ key: bound("user:alice") }),
      false,
    ],
    [
      "is no duplicate of the plain key if it was copied for another user",
      { user: "bob", key: plain },
      storedKey({ key: bound("user:alice"), user: "mallory" }),
      true,
    ],
  ])("%s", async (_rule, spec, view, admitted) => {
    expect((await outcome(request(spec), [view], true)).ruling.kind).toBe(
      admitted ? "admitted" : "refused",
    );
  });
});

describe("an update", () => {
  const old = storedKey({
    name: "old",
    key: "another-key-of-mallory",
    requester: "mallory",
    createdAt: "2025-01-01T00:00:00Z",
  });
  const change = { uid: "uid-old", stored: { user: "mallory", key: "a-former-key-of-mallory" } };

  test("is rejected if it would take the key of a newer object, regardless of read access", async () => {
    const { ruling, asked } = await outcome(request({ user: "mallory", key: plain }, change), [
      storedKey(),
      old,
    ]);
    expect([ruling, asked]).toEqual([
      expect.objectContaining({ ...refusal, message: expect.stringContaining("created later") }),
      [],
    ]);
  });

  test("with an unknown uid counts as a create", async () => {
    const { ruling } = await outcome(
      request({ user: "mallory", key: plain }, { ...change, uid: "uid-guessed" }),
      [storedKey()],
    );
    expect(ruling).toMatchObject({ kind: "admitted" });
  });

  test("that does not change the key is not checked", async () => {
    const { ruling } = await outcome(
      request({ user: "mallory", key: plain }, { ...change, stored: { key: plain } }),
      [storedKey(), old],
      true,
    );
    expect(ruling).toMatchObject({ kind: "admitted" });
  });
});

describe("a user who sets a key on an object that another user requested", () => {
  const digestOf = (key: string): string => boundDigest(key, "user:alice");

  function takeover({ sent, username = "bob" }: { sent: string; username?: string }) {
    const spec = { user: "alice", key: sent };
    const made = request(spec, { username, stored: { user: "alice", key: digestOf(plain) } });
    const metadata = { name: "sent", annotations: { [annotations.requester]: "alice" } };
    return { ...made, oldObject: { ...made.oldObject, metadata } };
  }

  test.each([
    ["another digest of the stored key", bound("user:bob"), "refused"],
    ["the digest of another key", digestOf("a-new-key-of-bob"), "admitted"],
    ["the stored digest", digestOf(plain), "admitted"],
    ["no digest", "a-new-key-of-bob", "admitted"],
  ])("sets one that the requester does not know: %s is %s", async (_, sent, kind) => {
    const ruling = await newKeyOnTakeOver(takeover({ sent }), fakeAdmissionContext({}));
    const says = "message" in ruling && /requester "alice" may know/.test(ruling.message);
    expect([ruling.kind, says]).toEqual([kind, kind === "refused"]);
  });

  test("does not take it over if the user is its requester", async () => {
    const own = takeover({ sent: bound("user:bob"), username: "alice" });
    const ruling = await newKeyOnTakeOver(own, fakeAdmissionContext({}));
    expect(ruling).toEqual({ kind: "admitted", object: own.object });
  });
});

test.each([
  ["a new object without a key gets one", { user: "a", key: "" }, undefined, /^[^ ]{20,}$/],
  ["an emptied key stays", { user: "a", key: "" }, { user: "a", key: "stays" }, /^stays$/],
  ["a key that is set is kept", { user: "a", key: "mine" }, undefined, /^mine$/],
])("%s", async (_, spec, stored, key) => {
  const sent = request(spec, stored === undefined ? {} : { stored });
  const ruling = await defaultKey(sent, fakeAdmissionContext({}));
  expect(ruling).toMatchObject({ kind: "admitted", object: { spec: { user: "a" } } });
  expect("object" in ruling && recordAt(ruling.object, "spec")["key"]).toMatch(key);
});

test("rejects the fifth key of one index for a requester, and for no other", async () => {
  const four = ["a", "b", "c", "d"].map((name) =>
    storedKey({ name, key: `sha256:${index}.${sha256(name)}`, requester: "mallory" }),
  );
  const spec = { user: "mallory", key: `sha256:${index}.${sha256("e")}` };
  expect((await outcome(request(spec), four)).ruling).toMatchObject({
    kind: "refused",
    code: 422,
    message: expect.stringContaining("already has 4"),
  });
  expect(
    (
      await outcome(
        request({ user: "alice", key: bound("user:alice") }, { username: "alice" }),
        four,
      )
    ).ruling,
  ).toMatchObject({ kind: "admitted" });
});

describe("a requester at its quota of keys", () => {
  const options = { namespace: "latchkey-system", quotaKeys: 3, quotaExempt: ["argocd"] };
  const having = (count: number) =>
    fakeAdmissionContext({
      options,
      accessKeys: { countOf: (name) => (name === "mallory" ? count : 0) },
    });

  const tooMany = {
    kind: "refused",
    code: 429,
    message: expect.stringContaining("mallory already has 3 OwnedAccessKeys"),
  };

  test.each<[string, number, AdmissionRequest, object]>([
    ["cannot create another key", 3, request({}), tooMany],
    ["cannot create another key above the quota", 4, request({}), tooMany],
    ["can create the last key below the quota", 2, request({}), { kind: "admitted" }],
    ["can update existing keys", 3, request({}, { stored: {} }), { kind: "admitted" }],
    [
      "does not affect other requesters",
      3,
      request({}, { username: "alice" }),
      { kind: "admitted" },
    ],
  ])("%s", async (_rule, count, sent, ruling) => {
    expect(await enforceQuota(sent, having(count))).toMatchObject(ruling);
  });

  test("can create keys if it is exempt", async () => {
    const full = fakeAdmissionContext({ options, accessKeys: { countOf: () => 9 } });
    expect(await enforceQuota(request({}, { username: "argocd" }), full)).toMatchObject({
      kind: "admitted",
    });
  });
});
