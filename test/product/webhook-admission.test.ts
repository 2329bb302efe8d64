import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { stringAt } from "../../src/api/parse.ts";
import { boundDigest, sha256 } from "../support/bound-digest.ts";
import { collectionOf, type KindName, objectOf } from "../support/crd-requests.ts";
import { eventually } from "../support/eventually.ts";
import { makeKey, worksAs } from "../support/key-request.ts";
import { allowRequesters, make, tryToMake } from "../support/keys-and-tokens.ts";
import { kubectl } from "../support/kubectl.ts";
import { withoutAdmission } from "../support/trust.ts";
import {
  admin,
  type Answer,
  api,
  as,
  ask,
  patchTypes,
  replace,
  unique,
} from "../support/policy-request.ts";

const requesters = unique("requesters");
const alice = { user: "alice", groups: [requesters] };
const generated = /^lk_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/;
const newKey = (): string => randomBytes(24).toString("base64url");
const manifest = (name: string, spec: object): string =>
  JSON.stringify({
    apiVersion: "management.service/v1",
    kind: "OwnedAccessKey",
    metadata: { name },
    spec,
  });

async function keyAt(path: string): Promise<string> {
  return stringAt((await api.get(path)).spec, "key") ?? "";
}

describe.skipIf(inject("webhook") === undefined)("a missing spec.key", () => {
  beforeAll(() => allowRequesters(requesters));

  it.each<[string, Readonly<Record<string, unknown>>]>([
    ["omitted", { user: "alice" }],
    ["an empty string", { user: "alice", key: "" }],
  ])("is generated, works, and can be read by the requester if it is %s", async (_how, spec) => {
    const own = await make("OwnedAccessKey", { by: alice, spec });
    const read = async () => {
      const { code, spec: seen } = await as(alice).get(own.path);
      return code === 200 && stringAt(seen, "key");
    };
    const key = await eventually(read, { what: "the requester to be granted the key" });
    expect(key).toMatch(generated);
    expect(await worksAs({ key })).toMatchObject({ username: "alice" });
  });

  it("is generated differently each time", async () => {
    const paths = await Promise.all(
      [1, 2, 3].map(async () => (await make("OwnedAccessKey", { spec: { user: "alice" } })).path),
    );
    expect(new Set(await Promise.all(paths.map(keyAt))).size).toBe(3);
  });

  it("keeps its generated value in updates that omit it, by any method", async () => {
    const name = unique("own");
    const access = inject("controlPlane");
    await kubectl(access, ["apply", "--server-side", "--filename=-"], {
      input: manifest(name, { user: "alice" }),
    });
    const path = `/apis/management.service/v1/ownedaccesskeys/${name}`;
    const key = await keyAt(path);
    await kubectl(access, ["apply", "--server-side", "--filename=-"], {
      input: manifest(name, { user: "alice", description: "changed" }),
    });
    expect(await keyAt(path)).toBe(key);
    expect(
      await replace({}, path, (object) => ({ ...object, spec: { user: "alice", ttl: 60 } })),
    ).toMatchObject({ code: 200 });
    expect(await keyAt(path)).toBe(key);
    await api.merge(path, { spec: { key: null } });
    expect(await keyAt(path)).toBe(key);
  });

  it.each([1234567890123456, ["a-key-in-a-list-of-one"], true])(
    "is not assumed for a value of another type: that is rejected, and no key is generated (%j)",
    async (key) => {
      const answer = await tryToMake("OwnedAccessKey", { by: alice, spec: { user: "alice", key } });
      expect(answer).toMatchObject({ code: 422, message: expect.stringContaining("spec.key") });
      expect(answer.message).not.toMatch(/1234567890123456|a-key-in-a-list/);
    },
  );

  it("stores nothing in a dry run", async () => {
    const path = "/apis/management.service/v1/ownedaccesskeys?dryRun=All";
    const name = unique("dry");
    expect(
      await as(alice).create(path, JSON.parse(manifest(name, { user: "alice" }))),
    ).toMatchObject({ code: 201 });
    expect(await api.find(path.replace("?dryRun=All", `/${name}`))).toMatchObject({ code: 404 });
  });
});

describe.skipIf(inject("webhook") === undefined)("the key of another object", () => {
  it.each<[string, (key: string) => string]>([
    ["as plain text", (key) => key],
    ["as a bound digest", (key) => boundDigest(key, "user:alice")],
  ])("is rejected %s, and is not printed", async (_how, form) => {
    const key = newKey();
    const spec = { user: "alice", key: form(key) };
    const older = await make("OwnedAccessKey", { spec });
    await worksAs({ key });
    const answer = await tryToMake("OwnedAccessKey", { spec });
    expect(answer).toMatchObject({
      code: 422,
      message: expect.stringContaining("already has this key"),
    });
    expect(answer.message).not.toMatch(new RegExp(`${key}|${sha256(key)}|${older.name}`));
  });

  it("is rejected in an update; the object may keep its own key", async () => {
    const [older, younger] = [
      await makeKey({ spec: { user: "alice" } }),
      await makeKey({ spec: { user: "alice" } }),
    ];
    await worksAs(older);
    const change = (key: string) => as(admin).merge(younger.path, { spec: { key } });
    expect(await change(older.key)).toMatchObject({ code: 422 });
    expect(await change(boundDigest(younger.key, "user:alice"))).toMatchObject({ code: 200 });
    expect(await change(newKey())).toMatchObject({ code: 200 });
  });
});

describe
  .skipIf(inject("webhook") === undefined)
  .each<KindName>(["SharedSecret", "OwnedAccessKey", "DirectClusterEndpointToken"])(
  "the deletionTimestamp of a %s",
  (kind) => {
    const spec = kind === "OwnedAccessKey" ? { user: "alice" } : {};
    const held = { finalizers: ["example.com/held"] };
    const hourMs = 3_600_000;

    /** An object in deletion, and the path of it and the begin of its deletion. */
    async function inDeletion(labels: object = {}): Promise<{ path: string; stored: string }> {
      const object = objectOf(kind, unique("leaving"), spec);
      const metadata = { ...object.metadata, ...held, labels };
      const path = `${collectionOf(kind)}/${object.metadata.name}`;
      await api.create(collectionOf(kind), { ...object, metadata });
      await api.delete(path);
      return { path, stored: String((await api.get(path)).metadata.deletionTimestamp) };
    }

    const moved = (stored: string, byMs: number): string =>
      new Date(Date.parse(stored) + byMs).toISOString().replace(".000Z", "Z");
    const send = (path: string, deletionTimestamp: unknown): Promise<Answer> =>
      as(admin).merge(path, { metadata: { deletionTimestamp } });

    it("cannot be set to a later time, in any kind of update", async () => {
      const { path, stored } = await inDeletion();
      const later = moved(stored, hourMs);
      const pointer = "/metadata/deletionTimestamp";
      const name = path.split("/").at(-1) ?? "";
      const metadata = { name, deletionTimestamp: later };
      const answers = [
        await send(path, later),
        await send(`${path}?dryRun=All`, later),
        await ask(admin, {
          method: "PATCH",
          path,
          type: patchTypes.json,
          body: [{ op: "replace", path: pointer, value: later }],
        }),
        await ask(admin, {
          method: "PATCH",
          path: `${path}?fieldManager=test&force=true`,
          type: patchTypes.apply,
          body: { ...objectOf(kind, name, spec), metadata },
        }),
        await replace(admin, path, (object) => ({
          ...object,
          metadata: { ...object.metadata, deletionTimestamp: later },
        })),
      ];
      for (const answer of answers)
        expect(answer).toMatchObject({
          code: 422,
          reason: "Invalid",
          message: expect.stringContaining(
            `metadata.deletionTimestamp: must not be later than the stored "${stored}", ` +
              `but is "${later}"; leave it out, or send the stored value`,
          ),
          details: { name, causes: [{ field: "metadata.deletionTimestamp" }] },
        });
      expect((await api.get(path)).metadata.deletionTimestamp).toBe(stored);
      await as(admin).merge(path, { metadata: { finalizers: null } });
    });

    it("stays as it is if it is sent earlier, the same, or not at all", async () => {
      const { path, stored } = await inDeletion();
      for (const sent of [moved(stored, -hourMs), stored, null])
        expect(await send(path, sent)).toMatchObject({
          code: 200,
          metadata: { deletionTimestamp: stored },
        });
      await as(admin).merge(path, { metadata: { finalizers: null } });
    });

    it("is put back by kube-apiserver without the webhook, which holds back nothing else", async () => {
      const { path, stored } = await inDeletion(withoutAdmission);
      expect(await send(path, moved(stored, hourMs))).toMatchObject({
        code: 200,
        metadata: { deletionTimestamp: stored },
      });
      await as(admin).merge(path, { metadata: { finalizers: null } });
    });
  },
);
