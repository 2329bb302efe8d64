import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { stringAt } from "../../src/api/parse.ts";
import { boundDigest, sha256 } from "../support/bound-digest.ts";
import { eventually } from "../support/eventually.ts";
import { makeKey, worksAs } from "../support/key-request.ts";
import { allowRequesters, make, tryToMake } from "../support/keys-and-tokens.ts";
import { kubectl } from "../support/kubectl.ts";
import { api, as, admin, replace, unique } from "../support/policy-request.ts";

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
