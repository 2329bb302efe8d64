import { randomBytes } from "node:crypto";
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { labels } from "../../src/api/names.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import type { Answer } from "../support/cluster-connection.ts";
import { collectionOf, objectOf } from "../support/crd-requests.ts";
import { eventually } from "../support/eventually.ts";
import { askWith, type KnownKey, makeKey, refusalOf, worksAs } from "../support/key-request.ts";
import { pathOf, viewOf, type OwnKind } from "../support/keys-and-tokens.ts";
import { becomes } from "../support/becomes.ts";
import { request, api, bind, unique } from "../support/policy-request.ts";

/** Has all permissions, so that every rejection is due to the key. */
const root = unique("root");
const [web, pay] = [unique("web"), unique("pay")];
const minting = {
  verbs: ["create", "delete"],
  resources: [
    { group: "management.service", resources: ["ownedaccesskeys", "directclusterendpointtokens"] },
  ],
};
const scopeOf = (...projects: readonly string[]) => ({
  projects: projects.map((project) => ({ project })),
  rules: [minting],
});
const secretsIn = (namespace: string) => request.get(`/api/v1/namespaces/${namespace}/secrets`);

type Spec = Readonly<Record<string, unknown>>;

async function rootKey(spec: Spec): Promise<KnownKey> {
  const key = await makeKey({ spec: { user: root, ...spec } });
  await worksAs(key);
  return key;
}

/** Creates another key or a token with a key. */
async function askFor(
  kind: OwnKind,
  asking: KnownKey,
  spec: Spec,
): Promise<{ readonly answer: Answer; readonly made: KnownKey }> {
  const [name, key] = [unique("made"), randomBytes(24).toString("base64url")];
  const whole = kind === "OwnedAccessKey" ? { user: root, key, ...spec } : spec;
  const answer = await askWith(
    asking.key,
    request.create(collectionOf(kind), objectOf(kind, name, whole)),
  );
  const made = {
    name,
    key,
    path: pathOf(kind, name),
    uid: String(recordAt(answer, "metadata")["uid"]),
    resourceVersion: "",
    createdAt: 0,
  };
  return { answer, made };
}

describe.skipIf(inject("webhook") === undefined)("with a key", () => {
  beforeAll(async () => {
    await bind({ kind: "User", name: root }, "cluster-admin");
    await Promise.all(
      [web, pay].map((name) =>
        api.create("/api/v1/namespaces", {
          metadata: { name, labels: { [labels.project]: name } },
        }),
      ),
    );
  });

  it("a narrower key can be created, works within its scope, and stops working with its parent", async () => {
    const asking = await rootKey({ scope: scopeOf(web, pay), ttl: 3600 });
    const { answer, made } = await askFor("OwnedAccessKey", asking, {
      scope: { projects: [{ project: web }] },
      ttl: 600,
    });
    expect(answer).toMatchObject({ code: 201 });
    await worksAs(made);
    await becomes("the labels to be known", () => askWith(made.key, secretsIn(web)), { code: 200 });
    expect(await askWith(made.key, secretsIn(pay))).toMatchObject({ code: 403 });
    await api.merge(asking.path, { spec: { disabled: true } });
    const { code, ms } = await refusalOf(made, secretsIn(web));
    expect(code).toBe(403);
    process.stderr.write(
      `webhook: a key is refused when the one that it was asked for with is disabled: ${code} after ${ms} ms\n`,
    );
    await eventually(
      async () => (await viewOf(made)).conditions["Ready"]?.reason === "ParentKeyInvalid",
      { what: "its status to say so" },
    );
  });

  it("the scope of a child key shrinks with the scope of its parent", async () => {
    const asking = await rootKey({ scope: scopeOf(web, pay) });
    const { made } = await askFor("OwnedAccessKey", asking, {
      scope: { projects: [{ project: pay }] },
    });
    await worksAs(made);
    await becomes("the labels to be known", () => askWith(made.key, secretsIn(pay)), { code: 200 });
    await api.merge(asking.path, { spec: { scope: scopeOf(web) } });
    expect(await refusalOf(made, secretsIn(pay))).toMatchObject({ code: 403 });
  });

  it.each<[string, Spec, RegExp]>([
    [
      "with a wider scope",
      { ttl: 60, scope: scopeOf(web, pay) },
      /spec\.scope: must not exceed the scope/,
    ],
    [
      "with all projects",
      { ttl: 60, scope: scopeOf("*") },
      /spec\.scope: must not exceed the scope/,
    ],
    ["without a scope", { ttl: 60 }, /spec\.scope: must not exceed the scope/],
    [
      "with a later expiry",
      { scope: scopeOf(web), ttl: 7200 },
      /set spec\.ttl to at most \d+ seconds/,
    ],
    ["without expiry", { scope: scopeOf(web) }, /set spec\.ttl to at most \d+ seconds/],
    [
      "with an expiry that moves",
      { scope: scopeOf(web), ttl: 60, ttlAfterLastActivity: true },
      /without spec.ttlAfterLastActivity/,
    ],
  ])("a key cannot be created %s", async (_what, spec, message) => {
    const { answer } = await askFor(
      "OwnedAccessKey",
      await rootKey({ scope: scopeOf(web), ttl: 3600 }),
      spec,
    );
    expect(answer).toMatchObject({ code: 403, message: expect.stringMatching(message) });
  });

  it("a key cannot be created for another user, even one that its user may impersonate", async () => {
    const { answer } = await askFor("OwnedAccessKey", await rootKey({ scope: scopeOf(web) }), {
      user: "bob",
      scope: scopeOf(web),
    });
    expect(answer).toMatchObject({ code: 403 });
  });

  it("a key with a scope cannot read, change or delete a sibling, and a key without a scope gives it no more", async () => {
    const [sibling, scoped, free] = [
      await rootKey({}),
      await rootKey({ scope: { projects: [{ project: "*" }], rules: [{}] } }),
      await rootKey({}),
    ];
    const change = request.merge(sibling.path, { spec: { displayName: "mine" } });
    for (const asked of [request.get(sibling.path), change, request.delete(sibling.path)]) {
      expect(await askWith(scoped.key, asked)).toMatchObject({
        code: 403,
        message: expect.stringContaining("the scope of this credential"),
      });
    }
    const prolonged = request.merge(sibling.path, { spec: { ttlAfterLastActivity: true } });
    expect(await askWith(free.key, prolonged)).toMatchObject({
      code: 403,
      message: expect.stringContaining("authenticated with an access key"),
    });
    expect(await worksAs(sibling)).toMatchObject({ username: root });
  });

  it("a child key can be deleted", async () => {
    const asking = await rootKey({ scope: scopeOf(web) });
    const { made } = await askFor("OwnedAccessKey", asking, {
      scope: { projects: [{ project: web }] },
    });
    await worksAs(made);
    expect(await askWith(asking.key, request.delete(made.path))).toMatchObject({
      code: 200,
    });
  });

  it("a token is limited by both scopes, and expires no later than the key", async () => {
    const asking = await rootKey({ scope: scopeOf(web), ttl: 600 });
    const { answer, made } = await askFor("DirectClusterEndpointToken", asking, {
      ttl: 3600,
      scope: { clusters: [{ cluster: "c1" }] },
    });
    expect(answer).toMatchObject({ code: 201 });
    const token = await eventually(
      async () => stringAt((await api.get(made.path)).status, "token"),
      { what: "the token to be minted" },
    );
    const claims = decodeJwt(token);
    const scopes: unknown = JSON.parse(stringAt(claims["management.service"], "scope") ?? "");
    expect(scopes).toEqual([
      { clusters: [{ cluster: "c1" }] },
      expect.objectContaining({
        projects: [{ project: web }],
        rules: [expect.objectContaining({ verbs: minting.verbs })],
      }),
    ]);
    expect(stringAt(claims["management.service"], "keyID")).toBe(asking.uid);
    expect(claims.exp).toBeLessThanOrEqual(asking.createdAt / 1000 + 600);
    await api.merge(asking.path, { spec: { disabled: true } });
    await eventually(async () => (await viewOf(made)).token === undefined, {
      what: "the token to be taken out of the status",
    });
  });

  it("an undefined role is reported in a condition until it is defined", async () => {
    const role = unique("role");
    const key = await makeKey({ spec: { user: root, scope: { roles: [{ role }] } } });
    const ready = async () => (await viewOf(key)).conditions["Ready"];
    await eventually(async () => (await ready())?.reason === "InvalidScope", {
      what: "the missing role to show",
    });
    expect(await ready()).toMatchObject({
      status: "False",
      message: expect.stringContaining(role),
    });
    await api.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      metadata: { name: role, labels: { [labels.scopeRole]: role } },
      rules: [],
    });
    await eventually(async () => (await ready())?.status === "True", {
      what: "the role to be known",
    });
  });
});
