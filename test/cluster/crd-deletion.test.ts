import { describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import {
  collectionOf,
  everyKind,
  kinds,
  objectOf,
  type KindName,
} from "../support/crd-requests.ts";
import { admin, api, as, ask, request, unique, type Answer } from "../support/policy-request.ts";

const [first, second, third] = ["example.com/first", "example.com/second", "example.com/third"];

/** What a test stores: an object and its path. */
interface Stored {
  readonly path: string;
  readonly answer: Answer;
}

async function make(kind: KindName, metadata: object = {}): Promise<Stored> {
  const body = { ...objectOf(kind, "", {}), metadata: { name: unique("deletion"), ...metadata } };
  const answer = await api.create(collectionOf(kind), body);
  return { answer, path: `${collectionOf(kind)}/${answer.metadata.name}` };
}

/** A reference to an object, as in the ownerReferences of its dependents. */
function referenceTo({ answer: { kind, metadata } }: Stored, flags: object = {}): object {
  return { apiVersion, kind, name: metadata.name, uid: metadata["uid"], ...flags };
}

const finalizersOf = (path: string, finalizers: readonly string[] | null): Promise<Answer> =>
  as(admin).merge(path, { metadata: { finalizers } });

describe.each(everyKind)("an object of the kind %s", (kind) => {
  const { group, plural } = kinds[kind];

  it("that has no finalizer is removed at once, and a Status says which", async () => {
    const { path, answer } = await make(kind);
    await finalizersOf(path, null);
    const { name, uid } = answer.metadata;
    expect(await as(admin).delete(path)).toMatchObject({
      code: 200,
      apiVersion: "v1",
      kind: "Status",
      status: "Success",
      details: { name, group, kind: plural, uid },
    });
    const details = { name, group, kind: plural };
    expect(await api.find(path)).toMatchObject({ code: 404, reason: "NotFound", details });
  });

  describe("that has finalizers", () => {
    const makeDeleted = async (): Promise<Stored> => {
      const { path } = await make(kind);
      await finalizersOf(path, [first, second, third]);
      return { path, answer: await api.delete(path) };
    };

    it("gets a deletionTimestamp, and stays until they are removed, in any order", async () => {
      const { path, answer } = await makeDeleted();
      expect(answer).toMatchObject({
        kind,
        metadata: {
          deletionTimestamp: expect.any(String),
          deletionGracePeriodSeconds: 0,
          finalizers: [first, second, third],
        },
      });
      for (const left of [[first, third], [first]]) {
        expect((await finalizersOf(path, left)).metadata.finalizers).toEqual(left);
        expect(await api.find(path)).toMatchObject({ code: 200, metadata: { finalizers: left } });
      }
      expect(await finalizersOf(path, [])).toMatchObject({ code: 200 });
      expect(await api.find(path)).toMatchObject({ code: 404 });
    });

    it("keeps its deletionTimestamp, and gets no other finalizer", async () => {
      const { path, answer } = await makeDeleted();
      const { deletionTimestamp } = answer.metadata;
      const kept = { code: 200, metadata: { deletionTimestamp, deletionGracePeriodSeconds: 0 } };
      const never = { deletionTimestamp: null, deletionGracePeriodSeconds: null };
      expect(await as(admin).merge(path, { metadata: never })).toMatchObject(kept);
      expect(await finalizersOf(path, [first, second, third, "example.com/late"])).toMatchObject({
        code: 422,
        message: expect.stringContaining("no new finalizers can be added"),
      });
      // A second delete changes nothing.
      expect(await as(admin).delete(path)).toMatchObject(kept);
    });

    it("has no grace period, whatever the request asks for", async () => {
      const { path } = await make(kind, { finalizers: [first] });
      const options = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 3600 };
      expect(await ask(admin, { ...request.delete(path), body: options })).toMatchObject({
        code: 200,
        metadata: { deletionGracePeriodSeconds: 0 },
      });
    });
  });

  describe("with ownerReferences", () => {
    const owner = { apiVersion, kind: "OwnedAccessKey", name: "a", uid: "u" };
    const create = (...ownerReferences: readonly object[]): Promise<Answer> =>
      as(admin).create(`${collectionOf(kind)}?dryRun=All`, {
        ...objectOf(kind, "", {}),
        metadata: { name: unique("owned"), ownerReferences },
      });

    it("has at most one that is the controller", async () => {
      const controllers = ["a", "b"].map((name) => ({
        ...owner,
        name,
        uid: name,
        controller: true,
      }));
      expect(await create(...controllers)).toMatchObject({
        code: 422,
        message: expect.stringContaining("Only one reference can have Controller set to true"),
      });
      const [controller = owner, other = owner] = controllers;
      const references = [controller, { ...other, controller: false }];
      expect(await create(...references)).toMatchObject({
        code: 201,
        metadata: { ownerReferences: references },
      });
    });

    it("stores them as they were sent: controller and blockOwnerDeletion may be absent", async () => {
      const { code, metadata } = await create(owner);
      expect([code, metadata["ownerReferences"]]).toEqual([201, [owner]]);
    });

    it.each(["apiVersion", "kind", "name", "uid"])("refuses one without %s", async (field) => {
      // Since 1.37 the message has the index, and says Required.
      const named = `metadata\\.ownerReferences(?:\\[0\\])?\\.${field}: (?:Required|Invalid) value`;
      expect(await create({ ...owner, [field]: "" })).toMatchObject({
        code: 422,
        message: expect.stringMatching(named),
      });
    });
  });
});

const { hasControllerManager } = inject("controlPlane");
if (!hasControllerManager)
  process.stderr.write("skipped: owners and dependents, without kube-controller-manager\n");

describe.skipIf(!hasControllerManager).concurrent.each(everyKind)(
  "a dependent of the kind %s",
  (kind) => {
    const makeOwner = (): Promise<Stored> => make("OwnedAccessKey", { finalizers: [] });
    const release = (path: string): Promise<Answer> => finalizersOf(path, null);
    const removeForeground = (path: string): Promise<Answer> =>
      ask(admin, {
        ...request.delete(path),
        body: { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Foreground" },
      });

    it("is removed once all of its owners are", async () => {
      const [one, other] = [await makeOwner(), await makeOwner()];
      const { path } = await make(kind, {
        ownerReferences: [referenceTo(one), referenceTo(other)],
      });
      await release(path);
      await release(one.path);
      await api.delete(one.path);
      // The garbage collector has seen it when it takes the reference away.
      const left = {
        code: 200,
        metadata: { ownerReferences: [{ uid: other.answer.metadata["uid"] }] },
      };
      await becomes("one owner to be left", () => api.find(path), left);
      expect((await api.find(path)).metadata).not.toHaveProperty("deletionTimestamp");
      await release(other.path);
      await api.delete(other.path);
      await becomesGone(path);
    });

    it("blocks an owner that is deleted in the foreground", async () => {
      const owner = await makeOwner();
      const { path } = await make(kind, {
        finalizers: [first],
        ownerReferences: [referenceTo(owner, { blockOwnerDeletion: true })],
      });
      await release(owner.path);
      expect(await removeForeground(owner.path)).toMatchObject({
        code: 200,
        metadata: { finalizers: ["foregroundDeletion"], deletionTimestamp: expect.any(String) },
      });
      await becomes("the dependent to be deleted", () => api.find(path), {
        metadata: { deletionTimestamp: expect.any(String) },
      });
      expect(await api.find(owner.path)).toMatchObject({
        code: 200,
        metadata: { finalizers: ["foregroundDeletion"] },
      });
      await release(path);
      await becomesGone(path);
      await becomesGone(owner.path);
    });

    it("does not block it with blockOwnerDeletion: false, or once the reference is gone", async () => {
      const owner = await makeOwner();
      const blocking = referenceTo(owner, { blockOwnerDeletion: true });
      const held = await make(kind, { finalizers: [first], ownerReferences: [blocking] });
      const { path } = await make(kind, {
        finalizers: [first],
        ownerReferences: [referenceTo(owner)],
      });
      await release(owner.path);
      await removeForeground(owner.path);
      await becomes("the dependents to be deleted", () => api.find(held.path), {
        metadata: { deletionTimestamp: expect.any(String) },
      });
      await as(admin).merge(held.path, { metadata: { ownerReferences: null } });
      await becomesGone(owner.path);
      expect((await api.find(path)).metadata.finalizers).toContain(first);
    });
  },
);
