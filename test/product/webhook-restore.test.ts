import { beforeAll, describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { collectionOf } from "../support/crd-requests.ts";
import { eventually } from "../support/eventually.ts";
import { type KnownKey, makeKey, whoIs, worksAs } from "../support/key-request.ts";
import { allowRequesters, pathOf, viewOf } from "../support/keys-and-tokens.ts";
import { becomes } from "../support/becomes.ts";
import {
  api,
  as,
  admin,
  bind,
  unique,
  type Answer,
  type Caller,
} from "../support/policy-request.ts";

const requesters = unique("requesters");
/** The requester of the keys. */
const alice: Caller = { user: unique("alice"), groups: [requesters] };
/** The account of a backup tool, cluster-admin like that of Velero. */
const velero: Caller = {
  user: "system:serviceaccount:velero:velero",
  groups: ["system:serviceaccounts", "system:serviceaccounts:velero", "system:authenticated"],
};
const restorers: readonly (readonly [string, Caller])[] = [
  ["an administrator", admin],
  ["their requester", alice],
  ["a backup tool", velero],
];
const ofAlice = (spec: object = {}): Parameters<typeof makeKey>[0] => ({
  by: alice,
  spec: { user: alice.user, ...spec },
});

/** Deletes a key and creates it again from an export, like kubectl and backup tools. */
async function restored(by: Caller, key: KnownKey): Promise<KnownKey> {
  const exported = await api.get(key.path);
  await api.delete(key.path);
  await becomes("the key to be gone", () => api.find(key.path), { code: 404 });
  return createdAgain(by, key, exported);
}

async function createdAgain(
  by: Caller,
  key: KnownKey,
  { code: _code, warnings: _warnings, message: _message, ...exported }: Answer,
): Promise<KnownKey> {
  const {
    resourceVersion: _,
    uid: _uid,
    creationTimestamp: _creation,
    ...metadata
  } = exported.metadata;
  const create = () => as(by).create(collectionOf("OwnedAccessKey"), { ...exported, metadata });
  // Until the webhook has received the deletion, the key belongs to the former object.
  const hasReceived = async () => {
    const created = await create();
    return !(created.code === 422 && created.message.includes("already has this key")) && created;
  };
  const answer = await eventually(hasReceived, { what: "the webhook to receive the deletion" });
  expect(answer).toMatchObject({ code: 201 });
  return { ...key, uid: String(recordAt(answer, "metadata")["uid"]) };
}

const reasonOf = async (key: KnownKey): Promise<string | undefined> =>
  (await viewOf(key)).conditions["Ready"]?.reason;
/**
 * The end of a restored key, at most a second before the original one: the webhook records the start
 * with its own clock, which may be in the second before that of the API server.
 */
const endsLike = async (key: KnownKey, expiresAt = ""): Promise<void> =>
  expect([Date.parse(expiresAt) - 1_000, Date.parse(expiresAt)]).toContain(
    Date.parse((await viewOf(key)).expiresAt ?? ""),
  );
const settledAs = (key: KnownKey, reason: string) =>
  eventually(async () => (await reasonOf(key)) === reason, { what: `the key to be ${reason}` });

describe.skipIf(inject("webhook") === undefined).each(restorers)(
  "keys that are restored by %s",
  (_who, by) => {
    beforeAll(async () => {
      await allowRequesters(requesters);
      await bind({ kind: "User", name: velero.user ?? "" }, "cluster-admin");
    });

    it("are still expired", async () => {
      const key = await makeKey(ofAlice({ ttl: 1 }));
      await settledAs(key, "Expired");
      const { expiresAt } = await viewOf(key);
      const again = await restored(by, key);
      await settledAs(again, "Expired");
      await endsLike(again, expiresAt);
      expect(await whoIs(key.key)).toBeUndefined();
    });

    it("are still expired if only their annotation shows it", async () => {
      const key = await makeKey(ofAlice({ ttl: 1, ttlAfterLastActivity: true }));
      await settledAs(key, "Expired");
      // The status is written first, and the annotation after it.
      await eventually(
        async () => {
          const { metadata } = await api.get(key.path);
          return metadata.annotations?.[annotations.expiredAt] !== undefined;
        },
        { what: "the record of the expiry" },
      );
      const exported = await api.get(key.path);
      await api.delete(key.path);
      await becomes("the key to be gone", () => api.find(key.path), { code: 404 });
      const again = await createdAgain(by, key, {
        ...exported,
        spec: { ...exported.spec, ttl: 0 },
      });
      await settledAs(again, "Expired");
      expect(await whoIs(key.key)).toBeUndefined();
    });

    it("expire at the original time", async () => {
      const key = await makeKey(ofAlice({ ttl: 3600 }));
      await settledAs(key, "Active");
      const { expiresAt } = await viewOf(key);
      await eventually(() => Date.now() > key.createdAt + 2_000, {
        what: "some of its lifetime to pass",
      });
      const again = await restored(by, key);
      await settledAs(again, "Active");
      await endsLike(again, expiresAt);
      expect(await worksAs(again)).toMatchObject({ username: alice.user });
    });

    it("are invalid if their parent key was restored as another object", async () => {
      const parent = await makeKey(ofAlice());
      await worksAs(parent);
      const child = await makeKey({
        by: { ...alice, extra: { "management.service/key-id": [parent.uid] } },
        spec: { user: alice.user },
      });
      await worksAs(child);
      const exported = await api.get(child.path);
      await restored(by, parent);
      await api.delete(child.path);
      await becomes("the key to be gone", () => api.find(child.path), { code: 404 });
      const again = await createdAgain(by, child, exported);
      await settledAs(again, "ParentKeyInvalid");
      expect(
        (await api.get(pathOf("OwnedAccessKey", child.name))).metadata.annotations,
      ).toMatchObject({ "management.service/requester-key-id": parent.uid });
      // The API server caches the TokenReview for some seconds.
      await eventually(async () => (await whoIs(child.key)) === undefined, {
        what: "the key to be refused",
      });
    });
  },
);
