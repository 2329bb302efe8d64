import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { latchkeyRecords } from "../support/audit-log.ts";
import { eventually } from "../support/eventually.ts";
import { managementPath } from "../support/gateway-address.ts";
import { askGateway } from "../support/gateway-request.ts";
import { objectOf } from "../support/crd-requests.ts";
import { restricting, storedTerms, widening } from "../support/key-changes.ts";
import { viewOf } from "../support/keys-and-tokens.ts";
import { askWith, type KnownKey, makeKey, worksAs } from "../support/key-request.ts";
import { api, bind, request, unique } from "../support/policy-request.ts";
import {
  askDirectly,
  askThroughGateway,
  gatewayKnows,
  type KeyedAnswer,
  type KeyedRequest,
} from "../support/ways-in.ts";

const root = unique("root");
const collection = "/apis/management.service/v1/ownedaccesskeys";
const merge = "application/merge-patch+json";
const patchOf = (path: string, body: object): KeyedRequest => ({
  method: "PATCH",
  path,
  type: merge,
  body,
});
const disabling = { spec: { disabled: true } };
const minting = [
  {
    verbs: ["create"],
    resources: [{ group: "management.service", resources: ["ownedaccesskeys"] }],
  },
];

/** A key that both ways in know. */
async function known(key: KnownKey): Promise<KnownKey> {
  await worksAs(key);
  await gatewayKnows(key);
  return key;
}

const rootKey = async (spec: object = {}): Promise<KnownKey> =>
  known(await makeKey({ spec: { user: root, ...spec } }));

/** A key that is made with another one. */
async function childOf(parent: KnownKey, spec: object = {}): Promise<KnownKey> {
  const { key, name } = { key: `${unique("key")}-0123456789abcdef`, name: unique("child") };
  const manifest = objectOf("OwnedAccessKey", name, { user: root, key, ...spec });
  const answer = await askWith(parent.key, request.create(collection, manifest));
  expect(answer).toMatchObject({ code: 201 });
  const path = `${collection}/${name}`;
  const uid = String(recordAt(answer, "metadata")["uid"]);
  return known({ name, key, path, uid, resourceVersion: "", createdAt: 0 });
}

const waysIn: readonly [string, (key: KnownKey, request: KeyedRequest) => Promise<KeyedAnswer>][] =
  [
    ["kube-apiserver", askDirectly],
    ["the gateway", askThroughGateway],
  ];

describe.skipIf(inject("webhook") === undefined)("a request with a key", () => {
  beforeAll(() => bind({ kind: "User", name: root }, "cluster-admin"));

  describe.each(waysIn)("at %s", (_way, askAt) => {
    it("restricts, describes and deletes other keys of its user", async () => {
      const by = await rootKey();
      for (const [what, before, body] of restricting) {
        const { path } = await makeKey({ spec: { user: root, ...storedTerms, ...before } });
        const answer = await askAt(by, patchOf(path, body));
        expect([what, answer.code, answer.message]).toEqual([what, 200, ""]);
      }
      const { path } = await makeKey({ spec: { user: root, ...storedTerms } });
      expect(await askAt(by, { method: "DELETE", path })).toMatchObject({ code: 200 });
    });

    it("gives other keys no more", async () => {
      const by = await rootKey();
      // The webhook keeps the name of the Secret of connector data, whatever a request says.
      const refused = widening.filter(([field]) => !field.includes(annotations.connectorData));
      for (const [field, before, body] of refused) {
        const { path } = await makeKey({ spec: { user: root, ...storedTerms, ...before } });
        expect(await askAt(by, patchOf(path, body))).toMatchObject({
          code: 403,
          message: expect.stringContaining(field),
        });
      }
    });

    it("does not delete its own key, but ends it", async () => {
      const key = await rootKey();
      expect(await askAt(key, { method: "DELETE", path: key.path })).toMatchObject({
        code: 403,
        message: expect.stringContaining("kubectl latchkey keys disable --self"),
      });
      expect(await askAt(key, patchOf(key.path, disabling))).toMatchObject({ code: 200 });
      expect((await api.get(key.path)).spec).toMatchObject(disabling.spec);
      const isOver = async () => (await askAt(key, { path: key.path })).code === 401;
      await eventually(isOver, { what: "the key to be refused" });
    });

    it("changes nothing of the keys that it was made with", async () => {
      const grandparent = await rootKey();
      const parent = await childOf(grandparent);
      const key = await childOf(parent);
      for (const { path } of [grandparent, parent])
        for (const asked of [
          patchOf(path, disabling),
          patchOf(path, { metadata: { labels: { a: "b" } } }),
          { method: "DELETE", path } as const,
        ])
          expect(await askAt(key, asked)).toMatchObject({
            code: 403,
            message: expect.stringContaining("was made with OwnedAccessKey"),
          });
      expect(await askAt(parent, patchOf(key.path, disabling))).toMatchObject({ code: 200 });
    });

    it("does not delete a key that has just expired", async () => {
      const [by, target] = [await rootKey(), await makeKey({ spec: { user: root, ttl: 1 } })];
      const isOver = async () => (await viewOf(target)).conditions["Expired"]?.status === "True";
      await eventually(isOver, { what: "the key to expire" });
      expect(await askAt(by, { method: "DELETE", path: target.path })).toMatchObject({
        code: 403,
        message: expect.stringMatching(/disabled or expired|is Expired/),
      });
    });

    it("deletes no collection of keys", async () => {
      const path = `${collection}?labelSelector=${unique("none")}`;
      expect(await askAt(await rootKey(), { method: "DELETE", path })).toMatchObject({
        code: 403,
        message: expect.stringContaining("only by name"),
      });
    });

    it("is limited by the scope of the key", async () => {
      const target = await makeKey({ spec: { user: root } });
      const rule = { ...minting[0], verbs: ["patch", "update"] };
      const by = await rootKey({ scope: { rules: [rule] } });
      expect(await askAt(by, patchOf(target.path, disabling))).toMatchObject({ code: 200 });
      expect(await askAt(by, { method: "DELETE", path: target.path })).toMatchObject({
        code: 403,
        message: expect.stringContaining("the scope of this credential does not allow"),
      });
    });

    it("gets the same answer when it asks", async () => {
      const key = await rootKey();
      const answers: boolean[] = [];
      for (const name of [key.name, "another"]) {
        const review = {
          method: "POST",
          path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
          body: {
            apiVersion: "authorization.k8s.io/v1",
            kind: "SelfSubjectAccessReview",
            spec: {
              resourceAttributes: {
                verb: "delete",
                group: "management.service",
                resource: "ownedaccesskeys",
                name,
              },
            },
          },
        } as const;
        answers.push(await allowedBy(askAt === askDirectly, key, review));
      }
      expect(answers).toEqual([false, true]);
    });
  });

  describe.skipIf(inject("gateway") === undefined)("at the gateway, without any right", () => {
    const nobodyKey = async (spec: object = {}): Promise<KnownKey> => {
      const key = await makeKey({ spec: { user: unique("nobody"), scope: {}, ...spec } });
      await gatewayKnows(key);
      return key;
    };
    const sendPatch = (key: KnownKey, path: string, body: object, type = merge) =>
      askGateway({
        method: "PATCH",
        path: managementPath + path,
        key: key.key,
        headers: { "content-type": type },
        body: JSON.stringify(body),
      });

    it.each<[string, object, string, object]>([
      ["disables", disabling, merge, { disabled: true }],
      [
        "disables by a JSON Patch",
        [{ op: "add", path: "/spec/disabled", value: true }],
        "application/json-patch+json",
        { disabled: true },
      ],
      ["shortens", { spec: { ttl: 600 } }, merge, { ttl: 600 }],
    ])("%s itself, by name and by uid", async (_what, body, type, spec) => {
      for (const field of ["name", "uid"] as const) {
        const key = await nobodyKey({ ttl: 3600 });
        const { status, text } = await sendPatch(key, `${collection}/${key[field]}`, body, type);
        expect([status, text]).toEqual([200, expect.stringContaining(`"name":"${key.name}"`)]);
        expect(text).not.toContain("spec");
        expect((await api.get(key.path)).spec).toMatchObject(spec);
        const record = await eventually(
          () =>
            auditLogs()
              .flatMap((path) => latchkeyRecords(path))
              .find(
                ({ verb, objectRef }) =>
                  verb === "patch" &&
                  objectRef?.name === key.name &&
                  objectRef.subresource === undefined,
              ),
          { what: "the audit log" },
        );
        expect(record.annotations).toMatchObject({ "latchkey-mint-guard/ended-with-key": key.uid });
      }
    });

    it("gets no answer after that", async () => {
      const key = await nobodyKey();
      expect(await sendPatch(key, key.path, disabling)).toMatchObject({ status: 200 });
      expect(await sendPatch(key, key.path, disabling)).toMatchObject({ status: 401 });
    });

    it.each<[string, object]>([
      ["longer", { spec: { ttl: 7200 } }],
      ["enabled", { spec: { disabled: false } }],
      ["another", { spec: { disabled: true, user: "root" } }],
      ["labelled", { ...disabling, metadata: { labels: { a: "b" } } }],
    ])("does not become %s", async (_what, body) => {
      const key = await nobodyKey({ ttl: 3600 });
      const before = (await api.get(key.path)).spec;
      expect(await sendPatch(key, key.path, body)).toMatchObject({ status: 403 });
      expect((await api.get(key.path)).spec).toEqual(before);
    });

    it("ends no other key, and nothing in a dry run", async () => {
      const [key, other] = [await nobodyKey(), await nobodyKey()];
      for (const path of [other.path, `${collection}/${other.uid}`, `${key.path}?dryRun=All`])
        expect(await sendPatch(key, path, disabling)).toMatchObject({ status: 403 });
      for (const { path } of [key, other])
        expect((await api.get(path)).spec).not.toMatchObject({ disabled: true });
    });
  });
});

/** Those of all API servers: the gateway may use another than the test. */
function auditLogs(): readonly string[] {
  const directory = dirname(inject("controlPlane").auditLogPath ?? "");
  return readdirSync(directory)
    .filter((name) => name.endsWith("audit.log"))
    .map((name) => join(directory, name));
}

async function allowedBy(isDirect: boolean, key: KnownKey, asked: KeyedRequest): Promise<boolean> {
  const { text } = await askGateway({
    ...asked,
    key: key.key,
    path: (isDirect ? "" : managementPath) + asked.path,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(asked.body),
    ...(isDirect ? { server: inject("controlPlane") } : {}),
  });
  return recordAt(JSON.parse(text), "status")["allowed"] === true;
}
