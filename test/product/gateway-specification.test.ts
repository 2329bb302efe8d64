import { dump } from "js-yaml";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { askGateway, type GatewayRequest } from "../support/gateway-request.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { allowRequesters } from "../support/keys-and-tokens.ts";
import { becomes } from "../support/becomes.ts";
import { admin, api, as, bind, unique } from "../support/policy-request.ts";
import { gatewayKnows } from "../support/ways-in.ts";

const own = `/kubernetes/management/apis/${apiVersion}`;
const yaml = { "content-type": "application/yaml" };
const json = { "content-type": "application/json" };
const jsonPatch = { "content-type": "application/json-patch+json" };
const managementIn = (rule: object) => ({ ...rule, requestTargets: ["Management"] });
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

  describe.each([
    ["SharedSecret", `${own}/namespaces/default/sharedsecrets`, { data: { a: "b25l" } }],
    ["OwnedAccessKey", `${own}/ownedaccesskeys`, { user: "alice", groups: [admins], ttl: 600 }],
    ["DirectClusterEndpointToken", `${own}/directclusterendpointtokens`, { ttl: 600 }],
  ])("about the kind %s, with a key", (kind, collection, spec) => {
    it.each([true, false])("creates, replaces, patches and deletes (HTTP/2: %s)", async (http2) => {
      const name = unique("spec");
      const annotations = { "example.com/state": "created" };
      const manifest = { apiVersion, kind, metadata: { name, annotations }, spec };
      const created = await ask({
        method: "POST",
        path: collection,
        headers: yaml,
        body: dump(manifest),
        http2,
      });
      expect([created.status, created.message]).toEqual([201, ""]);
      const path = `${collection}/${name}`;
      // The controller may write the object between the read and the PUT.
      const replaced = await eventually(
        async () => {
          const read = await ask({ path, http2 });
          const body = dump(read.object).replace("state: created", "state: replaced");
          const answer = await ask({ method: "PUT", path, headers: yaml, body, http2 });
          return answer.status !== 409 && { read, answer };
        },
        { what: "the object to be replaced" },
      );
      const { uid, generation } = recordAt(replaced.read.object, "metadata");
      expect([replaced.answer.status, replaced.answer.message]).toEqual([200, ""]);
      expect(recordAt(replaced.answer.object, "metadata")).toMatchObject({
        uid,
        generation,
        annotations: { "example.com/state": "replaced" },
      });
      const patched = await ask({
        method: "PATCH",
        path,
        headers: jsonPatch,
        http2,
        body: '[{"op": "add", "path": "/metadata/annotations/example.com~1team", "value": "a"}]',
      });
      expect([patched.status, patched.message]).toEqual([200, ""]);
      expect(recordAt(patched.object, "metadata")["annotations"]).toMatchObject({
        "example.com/state": "replaced",
        "example.com/team": "a",
      });
      expect((await ask({ method: "DELETE", path, http2 })).status).toBe(200);
      expect(
        (await ask({ method: "POST", path: collection, headers: yaml, body: "x: [" })).status,
      ).toBe(400);
    });

    it.each([
      ["its kind", ["kind"]],
      ["its apiVersion", ["apiVersion"]],
      ["both", ["kind", "apiVersion"]],
    ])("takes %s from the path, in POST and PUT", async (_what, missing) => {
      const bodyOf = (object: object): string =>
        dump(
          Object.fromEntries(Object.entries(object).filter(([name]) => !missing.includes(name))),
        );
      const name = unique("inferred");
      const created = await ask({
        method: "POST",
        path: collection,
        headers: yaml,
        body: bodyOf({ apiVersion, kind, metadata: { name }, spec }),
      });
      expect([created.status, created.message]).toEqual([201, ""]);
      expect(created.object).toMatchObject({ apiVersion, kind, metadata: { name } });
      const path = `${collection}/${name}`;
      // The controller may write the object between the read and the PUT.
      const replaced = await eventually(
        async () => {
          const { object } = await ask({ path });
          const body = bodyOf({ ...recordAt({ object }, "object") });
          const answer = await ask({ method: "PUT", path, headers: yaml, body });
          return answer.status !== 409 && answer;
        },
        { what: "the object to be replaced" },
      );
      expect([replaced.status, replaced.message]).toEqual([200, ""]);
      expect(replaced.object).toMatchObject({ apiVersion, kind, metadata: { name } });
    });

    it("lists them", async () => {
      const name = unique("listed");
      const body = JSON.stringify({ metadata: { name, labels: { name } }, spec });
      expect((await ask({ method: "POST", path: collection, headers: json, body })).status).toBe(
        201,
      );
      const { object } = await ask({ path: `${collection}?labelSelector=name%3D${name}` });
      expect(object).toMatchObject({
        apiVersion,
        kind: `${kind}List`,
        metadata: { resourceVersion: expect.any(String) },
        items: [{ apiVersion, kind, metadata: { name } }],
      });
    });
  });

  it("records the last use of its key", async () => {
    const lastActivity = async () => stringAt((await api.get(key.path)).status, "lastActivity");
    const used = await eventually(lastActivity, { what: "status.lastActivity to be written" });
    expect(Date.parse(used)).toBeGreaterThanOrEqual(key.createdAt);
  });

  it.each([
    ["without one", [{}], 200],
    ["with cluster", [{ cluster: "east" }], 403],
    ["with any cluster", [{ cluster: "*" }], 403],
    ["with cluster, and the target Management", [managementIn({ cluster: "east" })], 403],
    ["with any of virtualClusters", [{ virtualClusters: [{}] }], 403],
    ["with one of virtualClusters", [{ virtualClusters: [{ name: "dev", namespace: "" }] }], 403],
    [
      "with virtualClusters, and the target Management",
      [managementIn({ virtualClusters: [{}] })],
      403,
    ],
    ["with cluster beside a rule without", [{ cluster: "east" }, {}], 200],
  ])("about the central cluster are covered by a rule %s: %j %s", async (_what, rules, code) => {
    const scoped = await makeKey({ spec: { user: "alice", groups: [admins], scope: { rules } } });
    await gatewayKnows(scoped);
    const path = "/kubernetes/management/api/v1/namespaces/default/configmaps";
    const { status, message } = await ask({ path, key: scoped.key });
    expect([status, /scope of this credential does not allow/.test(message)]).toEqual([
      ...[code, code === 403],
    ]);
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
      method: "POST",
      path: `${own}/sharedsecrets`,
      headers,
      body: body(name),
    });
    expect([created.status, created.message]).toEqual([201, ""]);
    expect(recordAt(created.object, "metadata")).toMatchObject({ name, namespace: "default" });
    const patched = await ask({
      method: "PATCH",
      path: `${own}/sharedsecrets/${name}`,
      headers: jsonPatch,
      body: '[{"op": "add", "path": "/spec", "value": {"displayName": "patched"}}]',
    });
    expect(patched).toMatchObject({ status: 200, object: { metadata: { namespace: "default" } } });
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

  it.each([
    ["POST without one in the path", "POST", `${own}/sharedsecrets`, ""],
    ["POST with an empty one in the path", "POST", `${own}/namespaces//sharedsecrets`, ""],
    ["POST with an empty one in the body", "POST", `${own}/namespaces/default/sharedsecrets`, ""],
    ["PUT without one in the path", "PUT", `${own}/sharedsecrets`, "default"],
    ["PUT with an empty one in both", "PUT", `${own}/namespaces//sharedsecrets`, ""],
    ["PATCH without one", "PATCH", `${own}/sharedsecrets`, ""],
    ["PATCH with an empty one", "PATCH", `${own}/namespaces//sharedsecrets`, ""],
    ["DELETE without one", "DELETE", `${own}/sharedsecrets`, ""],
    ["DELETE with an empty one", "DELETE", `${own}/namespaces//sharedsecrets`, ""],
  ])("an empty namespace is default, in a %s", async (_what, method, collection, namespace) => {
    const name = unique("empty");
    const stored = `/apis/${apiVersion}/namespaces/default/sharedsecrets/${name}`;
    const manifest = { apiVersion, kind: "SharedSecret", metadata: { name, namespace } };
    const isCreate = method === "POST";
    if (!isCreate)
      await api.create(stored.slice(0, stored.lastIndexOf("/")), {
        ...manifest,
        metadata: { name },
      });
    const send = async () => {
      const { metadata } = isCreate ? manifest : await api.get(stored);
      const body =
        method === "PATCH"
          ? [{ op: "add", path: "/metadata/annotations", value: { "example.com/a": "b" } }]
          : { ...manifest, metadata: { ...metadata, namespace }, spec: { displayName: "sent" } };
      const { status, message } = await ask({
        method,
        path: isCreate ? collection : `${collection}/${name}`,
        headers: method === "PATCH" ? jsonPatch : json,
        ...(method === "DELETE" ? {} : { body: JSON.stringify(body) }),
      });
      return status !== 409 && [status, message];
    };
    // The controller may write the object between the read and the PUT.
    const answer = await eventually(send, { what: "an answer without a conflict" });
    expect(answer).toEqual([isCreate ? 201 : 200, ""]);
    const after: Readonly<Record<string, object>> = {
      POST: { spec: { displayName: "sent" } },
      PUT: { spec: { displayName: "sent" } },
      PATCH: { metadata: { annotations: { "example.com/a": "b" } } },
      DELETE: { code: 404 },
    };
    await becomes("what was sent", () => api.find(stored), after[method]);
  });

  it.each(["two.labels", "Upper", "-dash", "under_score", "x".repeat(64)])(
    "a namespace is a DNS label, and %s is none: in no path, in no body, and as no Namespace",
    async (namespace) => {
      const create = (path: string, metadata: object) =>
        ask({
          method: "POST",
          path,
          headers: json,
          body: JSON.stringify({ metadata: { name: unique("nowhere"), ...metadata } }),
        });
      const inPath = await create(`${own}/namespaces/${namespace}/sharedsecrets`, {});
      const inBody = await create(`${own}/namespaces/default/sharedsecrets`, { namespace });
      const itself = await create("/kubernetes/management/api/v1/namespaces", { name: namespace });
      expect([404, 422]).toContain(inPath.status);
      expect([inBody.status, itself.status]).toEqual([400, 422]);
      const direct = await as(admin).create(
        `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets`,
        { apiVersion, kind: "SharedSecret", metadata: { name: unique("nowhere") } },
      );
      expect([404, 422]).toContain(direct.code);
    },
  );

  it("does not repeat a body that is not valid", async () => {
    const path = `${own}/sharedsecrets`;
    const { status, text } = await ask({
      method: "POST",
      path,
      headers: json,
      body: '{"spec": {"data": {"a": "hunter2"}',
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
      method: "POST",
      path: `${own}/directclusterendpointtokens`,
      headers: { ...json, accept },
      body: JSON.stringify({ metadata: { generateName: "token-" } }),
    });
    expect(created.status).toBe(201);
    expect(created.text).toMatch(text);
  });

  it("answers a dry run of a token at once", async () => {
    const { status, object } = await ask({
      method: "POST",
      path: `${own}/directclusterendpointtokens?dryRun=All`,
      headers: json,
      body: JSON.stringify({ metadata: { generateName: "token-" } }),
    });
    expect(status).toBe(201);
    expect(isRecord(object) && recordAt(object, "status")["token"]).toBeUndefined();
  });
});
