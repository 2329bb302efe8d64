import { createHash } from "node:crypto";
import jsonPatch from "fast-json-patch";
import { describe, expect, test } from "vitest";
import type { AdmissionRequest } from "../../src/api/admission-review.ts";
import type { Metadata } from "../../src/api/object.ts";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";
import { annotations, extras } from "../../src/api/names.ts";
import type { ResolvedKey } from "../../src/domain/access-key/key-state.ts";
import { admissionHandler } from "../../src/webhooks/admission.ts";
import {
  enforceAttenuation,
  defaultKey,
  newKeyOnTakeOver,
  rejectDuplicateKey,
} from "../../src/webhooks/key-admission.ts";
import { boundDigest } from "../support/bound-digest.ts";
import { born, observedMetadata } from "../support/observed-objects.ts";
import { TestClock } from "../support/test-clock.ts";
import {
  posted,
  anonymousClient,
  fakeAdmissionContext,
  resolvedKeyWith,
} from "../support/review-fixture.ts";

const plain = "a-plain-key-of-alice";
const digest = createHash("sha256").update(plain).digest("hex");

async function admitted(
  object: object,
  {
    oldObject,
    holder,
    parent,
    keyIds,
    isFresh = true,
  }: {
    readonly isFresh?: boolean;
    readonly oldObject?: object;
    readonly holder?: Metadata;
    readonly parent?: ResolvedKey;
    readonly keyIds?: readonly string[];
  } = {},
) {
  const results: string[] = [];
  const stored =
    holder === undefined ? [] : [{ ...resolvedKeyWith().key, metadata: holder, keyDigest: digest }];
  const views = stored.map((key) => ({ ...resolvedKeyWith(), key }));
  const ofIndex = (index: string) => (digest.startsWith(index) ? stored : []);
  const context = fakeAdmissionContext({
    accessKeys: {
      ofIndex,
      byId: (uid: string) =>
        uid === "uid-asking" ? parent : views.find(({ key }) => key.metadata.uid === uid),
      isFresh: () => isFresh,
    },
    clock: new TestClock(born),
  });
  const admission = {
    steps: [newKeyOnTakeOver, rejectDuplicateKey, enforceAttenuation, defaultKey],
    warningsOf: (sent: AdmissionRequest) =>
      stringAt(recordAt(sent.object, "spec"), "parent") === undefined ? [] : ["spec.parent"],
    onResult: (result: string) => void results.push(result),
  };
  const handler = admissionHandler(admission, context);
  const request = {
    uid: "r1",
    operation: oldObject === undefined ? "CREATE" : "UPDATE",
    userInfo: {
      username: "alice",
      ...(keyIds === undefined ? {} : { extra: { [extras.keyId]: keyIds } }),
    },
    object,
    oldObject,
  };
  const response = await handler(
    posted({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }),
    anonymousClient,
  );
  return { response: recordAt(JSON.parse(response.body), "response"), result: results[0] };
}

/** The object after the patch of the response. */
function patched(object: object, response: unknown): unknown {
  const patch: jsonPatch.Operation[] = JSON.parse(
    Buffer.from(stringAt(response, "patch") ?? "", "base64").toString("utf8"),
  );
  return jsonPatch.applyPatch(structuredClone(object), patch).newDocument;
}

describe("a key is generated", () => {
  test.each<[string, object]>([
    ["if the spec has none", { metadata: { name: "a" }, spec: { user: "alice" } }],
    ["if there is no spec", { metadata: { name: "a" } }],
    ["if it is empty", { metadata: { name: "a" }, spec: { key: "" } }],
  ])("%s, without other changes", async (_rule, object) => {
    const { response, result } = await admitted(object);
    expect(response).toMatchObject({ uid: "r1", allowed: true, patchType: "JSONPatch" });
    const made = patched(object, response);
    expect(stringAt(recordAt(made, "spec"), "key")).toMatch(/^lk_/);
    const before = isRecord(object) ? object : {};
    expect(made).toEqual({
      ...before,
      spec: { ...recordAt(object, "spec"), key: expect.anything() },
    });
    expect(result).toBe("changed");
  });

  test("only on create: an update keeps the stored one", async () => {
    const object = { metadata: { name: "a", uid: "u" }, spec: { user: "alice" } };
    const { response } = await admitted(object, { oldObject: { spec: { key: plain } } });
    expect(patched(object, response)).toMatchObject({ spec: { key: plain } });
  });
});

describe("a key that another object has", () => {
  const holder = observedMetadata({ name: "older", uid: "uid-older" });

  test("is rejected, and not in the message", async () => {
    const { response, result } = await admitted(
      { metadata: { name: "a" }, spec: { key: plain } },
      { holder },
    );
    expect(response).toMatchObject({ allowed: false, status: { code: 422, reason: "Invalid" } });
    expect(JSON.stringify(response)).not.toMatch(new RegExp(`${plain}|${digest}|older`));
    expect(result).toBe("refused");
  });

  test.each<[string, object, object | undefined]>([
    [
      "is accepted for the object that has it",
      { metadata: { name: "older", uid: "uid-older" }, spec: { key: plain } },
      { spec: { key: "another" } },
    ],
    [
      "is accepted if the write does not change the key",
      { metadata: { name: "b", uid: "u" }, spec: { key: plain } },
      { spec: { key: plain } },
    ],
    [
      "is left to the schema if it is a digest that is not bound",
      { metadata: { name: "a" }, spec: { key: `sha256:${digest}` } },
      undefined,
    ],
  ])("%s", async (_rule, object, oldObject) => {
    const { response } = await admitted(object, {
      holder,
      ...(oldObject === undefined ? {} : { oldObject }),
    });
    expect(response).toEqual({ uid: "r1", allowed: true });
  });
});

describe("a takeover is allowed", () => {
  const bobs = (key: string) => ({
    metadata: { name: "a", uid: "u", annotations: { [annotations.requester]: "bob" } },
    spec: { key },
  });
  const alices = (key: string) => ({
    ...bobs(key),
    metadata: { ...bobs(key).metadata, annotations: { [annotations.requester]: "alice" } },
  });
  const boundTo = (user: string, key = plain): string => boundDigest(key, `user:${user}`);

  test.each<[string, object, object, boolean]>([
    ["with the digest of a new key", bobs(boundTo("bob", "a-new-key-of-alice")), bobs(plain), true],
    ["but not with a digest of the stored plain key", bobs(boundTo("bob")), bobs(plain), false],
    [
      "but not with a digest of the stored key for another user",
      bobs(boundTo("bob")),
      bobs(boundTo("alice")),
      false,
    ],
    ["with a digest where no key is stored", bobs(boundTo("bob")), bobs(""), true],
    ["and does not restrict the requester itself", alices(boundTo("alice")), alices(plain), true],
  ])("%s", async (_rule, object, oldObject, allowed) => {
    const { response } = await admitted(object, { oldObject });
    expect(response).toMatchObject(allowed ? { allowed } : { allowed, status: { code: 422 } });
    expect(JSON.stringify(response).includes('the requester \\"bob\\" may know')).toBe(!allowed);
    expect(JSON.stringify(response)).not.toMatch(new RegExp(`${plain}|${digest.slice(0, 16)}`));
  });
});

test("the response contains warnings", async () => {
  const { response } = await admitted({
    metadata: { name: "a" },
    spec: { key: plain, parent: "p" },
  });
  expect(response).toEqual({ uid: "r1", allowed: true, warnings: ["spec.parent"] });
});

test("responds with 400 to an invalid review, without its content", async () => {
  const handler = admissionHandler({ steps: [], onResult: () => {} }, fakeAdmissionContext());
  const response = await handler(posted({ spec: { key: "canary" } }), anonymousClient);
  expect([response.status, response.body]).toEqual([400, expect.stringMatching(/^(?!.*canary)/)]);
});

describe("a request with a key", () => {
  const made = (spec: object) => ({
    metadata: { name: "a" },
    spec: { user: "alice", key: plain, ...spec },
  });
  const parent = resolvedKeyWith({ ttl: 60 });

  test("creates no key while the cache is not fresh", async () => {
    const { response } = await admitted(made({ ttl: 60 }), {
      parent,
      keyIds: ["uid-asking"],
      isFresh: false,
    });
    expect(response).toMatchObject({
      allowed: false,
      status: { code: 503, message: expect.stringContaining("access key cache not synced") },
    });
  });

  test.each<[string, object, Parameters<typeof admitted>[1], boolean]>([
    ["creates a key within its own", made({ ttl: 60 }), { parent, keyIds: ["uid-asking"] }, true],
    ["creates no key beyond its own", made({}), { parent, keyIds: ["uid-asking"] }, false],
    ["creates no key if its own is gone", made({ ttl: 60 }), { keyIds: ["uid-asking"] }, false],
    [
      "creates no key with several key ids",
      made({ ttl: 60 }),
      { parent, keyIds: ["uid-asking", "uid-other"] },
      false,
    ],
    ["creates no key without a key id", made({ ttl: 60 }), { parent, keyIds: [] }, false],
  ])("%s", async (_rule, object, options, allowed) => {
    const { response } = await admitted(object, options);
    expect(response).toMatchObject(
      allowed ? { allowed } : { allowed, status: { code: 403, reason: "Forbidden" } },
    );
    expect(JSON.stringify(response)).not.toContain(plain);
  });
});
