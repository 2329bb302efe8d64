import { dump } from "js-yaml";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { isRecord, listAt, recordAt, stringAt } from "../../src/api/parse.ts";
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

  const management = "/apis/management.service/v1";
  /** The way past the gateway, as administrator. */
  const atServer = (request: GatewayRequest) => {
    const { tokens, ...server } = inject("controlPlane");
    return ask({ ...request, key: tokens["admin"] ?? "", server });
  };
  const kept = { "example.com/kept": "yes" };
  const manifestOf = (kind: string, displayName: string, metadata: object): string =>
    dump({
      ...{ apiVersion: "management.service/v1", kind, spec: { displayName } },
      metadata: { annotations: kept, ...metadata },
    });
  const annotate = {
    method: "PATCH",
    headers: { "content-type": "application/json-patch+json" },
    body: '[{"op":"add","path":"/metadata/annotations/example.com~1team","value":"web"}]',
  };
  const annotated = { metadata: { annotations: { ...kept, "example.com/team": "web" } } };

  /** Replaces an object as it was read; what Latchkey writes meanwhile makes it start again. */
  const replace = (kind: string, path: string, through: typeof ask, http2: boolean) =>
    eventually(
      async () => {
        const { object } = await through({ path, http2 });
        const { name, resourceVersion, uid, generation } = recordAt(object, "metadata");
        const body = manifestOf(kind, "two", { name, resourceVersion, uid, generation });
        const answer = await through({ method: "PUT", path, headers: yaml, body, http2 });
        return answer.status !== 409 && answer;
      },
      { what: "the object to be replaced" },
    );

  it.each([
    { kind: "SharedSecret", plural: "namespaces/default/sharedsecrets", http2: true },
    { kind: "SharedSecret", plural: "namespaces/default/sharedsecrets", http2: false },
    { kind: "OwnedAccessKey", plural: "ownedaccesskeys", http2: true },
    { kind: "OwnedAccessKey", plural: "ownedaccesskeys", http2: false },
  ])(
    "creates, lists, gets and deletes a $kind (HTTP/2: $http2)",
    async ({ kind, plural, http2 }) => {
      const [collection, name] = [`${own}/${plural}`, unique("spec")];
      const create = { method: "POST", path: collection, headers: yaml, http2 };
      const created = await ask({ ...create, body: manifestOf(kind, "one", { name }) });
      expect(created).toMatchObject({
        status: 201,
        object: { kind, spec: { displayName: "one" } },
      });
      const listed = await ask({ path: collection, http2 });
      expect(listed).toMatchObject({ status: 200, object: { kind: `${kind}List` } });
      const named = listAt(listed.object, "items").map(
        (item) => recordAt(item, "metadata")["name"],
      );
      expect(named).toContain(name);
      const path = `${collection}/${name}`;
      expect(await ask({ path, http2 })).toMatchObject({ status: 200, object: { kind } });
      expect((await ask({ method: "DELETE", path, http2 })).status).toBe(200);
      expect((await ask({ ...create, body: "x: [" })).status).toBe(400);
    },
  );

  it.each([true, false])("replaces and patches a SharedSecret (HTTP/2: %s)", async (http2) => {
    const name = unique("spec");
    const collection = `${own}/namespaces/default/sharedsecrets`;
    const body = manifestOf("SharedSecret", "one", { name });
    await ask({ method: "POST", path: collection, headers: yaml, body });
    const path = `${collection}/${name}`;
    expect(await replace("SharedSecret", path, ask, http2)).toMatchObject({
      ...{ status: 200, object: { spec: { displayName: "two" } } },
    });
    expect(await ask({ ...annotate, path, http2 })).toMatchObject({
      ...{ status: 200, object: annotated },
    });
  });

  it("replaces and patches an OwnedAccessKey at kube-apiserver, and with no access key", async () => {
    const [kind, name] = ["OwnedAccessKey", unique("spec")];
    const path = `${management}/ownedaccesskeys/${name}`;
    const body = manifestOf(kind, "one", { name });
    await ask({ method: "POST", path: `${own}/ownedaccesskeys`, headers: yaml, body });
    const refused = {
      status: 403,
      message: expect.stringContaining(`alice authenticated with an access key and may not update`),
    };
    const through = `${own}/ownedaccesskeys/${name}`;
    expect(await replace(kind, through, ask, true)).toMatchObject(refused);
    expect(await ask({ ...annotate, path: through })).toMatchObject(refused);
    expect(await replace(kind, path, atServer, false)).toMatchObject({
      ...{ status: 200, object: { spec: { displayName: "two" } } },
    });
    expect(await atServer({ ...annotate, path })).toMatchObject({
      ...{ status: 200, object: annotated },
    });
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
