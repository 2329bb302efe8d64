import { beforeAll, describe, expect, inject, it } from "vitest";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { askGateway, type GatewayRequest } from "../support/gateway-request.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import { bind, unique } from "../support/policy-request.ts";

const own = "/kubernetes/management/apis/management.service/v1";
const yaml = { "content-type": "application/yaml" };
const json = { "content-type": "application/json" };
const tokenText = /token"?: ?"?eyJ/;

describe.skipIf(inject("gateway") === undefined)("the specification's requests", () => {
  const admins = unique("admins");
  let key: KnownKey;

  const ask = async (request: GatewayRequest) => {
    const { status, text } = await askGateway({ key: key.key, ...request });
    let object: unknown;
    try {
      object = JSON.parse(text);
    } catch {
      object = undefined;
    }
    return { status, text, object, message: stringAt(object, "message") ?? "" };
  };

  beforeAll(async () => {
    await bind({ kind: "Group", name: admins }, "cluster-admin");
    await allowRequesters(admins);
    key = await makeKey({ spec: { user: "alice", groups: [admins] } });
    await eventually(
      async () => (await ask({ path: "/kubernetes/management/version" })).status === 200,
      { what: "the key to work" },
    );
  });

  it.each([true, false])("creates, replaces, patches and deletes (HTTP/2: %s)", async (http2) => {
    const name = unique("spec");
    const collection = `${own}/namespaces/default/sharedsecrets`;
    const manifest = `apiVersion: management.service/v1\nkind: SharedSecret\nmetadata:\n  name: ${name}\nspec:\n  displayName: one\n`;
    const created = await ask({
      ...{ method: "POST", path: collection, headers: yaml, body: manifest, http2 },
    });
    expect(created.status).toBe(201);
    const path = `${collection}/${name}`;
    const version = stringAt(recordAt(created.object, "metadata"), "resourceVersion") ?? "";
    const changed = manifest
      .replace("displayName: one", "displayName: two")
      .replace(`name: ${name}`, `name: ${name}\n  resourceVersion: "${version}"`);
    const replace = { method: "PUT", path, headers: yaml, body: changed, http2 };
    // The finalizer may have been added in the meantime.
    const replaced = await eventually(
      async () => {
        const answer = await ask(replace);
        if (answer.status !== 409) return answer;
        const { object } = await ask({ path });
        replace.body = changed.replace(
          version,
          stringAt(recordAt(object, "metadata"), "resourceVersion") ?? "",
        );
        return false;
      },
      { what: "the object to be replaced" },
    );
    expect(replaced.status).toBe(200);
    const patched = await ask({
      ...{ method: "PATCH", path, http2 },
      headers: { "content-type": "application/json-patch+json" },
      body: '[{"op":"replace","path":"/spec/displayName","value":"three"}]',
    });
    expect([patched.status, recordAt(patched.object, "spec")["displayName"]]).toEqual([
      200,
      "three",
    ]);
    expect((await ask({ method: "DELETE", path, http2 })).status).toBe(200);
    expect(
      (await ask({ method: "POST", path: collection, headers: yaml, body: "x: [" })).status,
    ).toBe(400);
  });

  it.each([
    ["JSON", json, (name: string) => JSON.stringify({ metadata: { name } })],
    ["YAML", yaml, (name: string) => `metadata:\n  name: ${name}\n`],
    [
      "YAML after a marker",
      yaml,
      (name: string) => `# a comment\n---\nmetadata: {name: ${name}}\n`,
    ],
    ["YAML in flow style", yaml, (name: string) => `{metadata: {name: ${name}}}\n`],
    ["JSON called YAML", yaml, (name: string) => JSON.stringify({ metadata: { name } })],
  ])("fills in kind and apiVersion in %s, and the namespace", async (_what, headers, body) => {
    const name = unique("filled");
    const created = await ask({
      ...{ method: "POST", path: `${own}/sharedsecrets`, headers, body: body(name) },
    });
    expect([created.status, created.message]).toEqual([201, ""]);
    expect(recordAt(created.object, "metadata")).toMatchObject({ name, namespace: "default" });
    for (const path of [
      `${own}/sharedsecrets/${name}`,
      `${own}/namespaces//sharedsecrets/${name}`,
      `${own}/namespaces/default/sharedsecrets/${name}`,
    ]) {
      expect((await ask({ path })).status).toBe(200);
    }
    const { status } = await ask({ method: "DELETE", path: `${own}/sharedsecrets/${name}` });
    expect(status).toBe(200);
  });

  it("does not repeat a body that is not valid", async () => {
    const path = `${own}/sharedsecrets`;
    const { status, text } = await ask({
      ...{ method: "POST", path, headers: json, body: '{"spec": {"data": {"a": "hunter2"}' },
    });
    expect(status).toBe(400);
    expect(text).not.toContain("hunter2");
  });

  it("answers 409 for a name that exists, and 422 for what the schema refuses", async () => {
    const name = unique("twice");
    const create = (body: object) =>
      ask({
        method: "POST",
        path: `${own}/ownedaccesskeys`,
        headers: json,
        body: JSON.stringify(body),
      });
    const spec = { user: "alice", groups: [admins] };
    expect((await create({ metadata: { name }, spec })).status).toBe(201);
    expect((await create({ metadata: { name }, spec })).status).toBe(409);
    expect(
      (await create({ metadata: { name: unique("bad") }, spec: { ...spec, ttl: -1 } })).status,
    ).toBe(422);
  });

  it.each([
    ["JSON", "application/json", tokenText],
    ["any type", "*/*", tokenText],
    ["YAML", "application/yaml", tokenText],
    ["a table", "application/json;as=Table;v=v1;g=meta.k8s.io", /"kind": ?"Table"/],
  ])("answers the creation of a token with status.token in %s", async (_what, accept, text) => {
    const created = await ask({
      ...{ method: "POST", path: `${own}/directclusterendpointtokens` },
      headers: { ...json, accept },
      body: JSON.stringify({ metadata: { generateName: "token-" } }),
    });
    expect(created.status).toBe(201);
    expect(created.text).toMatch(text);
  });

  it("answers a dry run of a token at once", async () => {
    const { status, object } = await ask({
      ...{ method: "POST", path: `${own}/directclusterendpointtokens?dryRun=All`, headers: json },
      body: JSON.stringify({ metadata: { generateName: "token-" } }),
    });
    expect(status).toBe(201);
    expect(isRecord(object) && recordAt(object, "status")["token"]).toBeUndefined();
  });
});
