import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { dump } from "js-yaml";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { collectionOf, type KindName, objectOf } from "../support/crd-requests.ts";
import { eventually } from "../support/eventually.ts";
import { managementPath } from "../support/gateway-address.ts";
import { kubectlThrough } from "../support/gateway-client.ts";
import { askGateway, type GatewayRequest } from "../support/gateway-request.ts";
import { type KnownKey, makeKey } from "../support/key-request.ts";
import { admin, api, type Ask, ask, bind, patchTypes, unique } from "../support/policy-request.ts";
import { formsOf } from "../support/secret-forms.ts";

/** A part of a spec whose shape is wrong, around a secret, and the field that the answer names. */
interface WrongShape {
  readonly kind: KindName;
  readonly what: string;
  /** The place of the value, as a path of a JSON patch. */
  readonly path: readonly string[];
  readonly value: (secret: string) => unknown;
  readonly field: string;
}

const wrongShapes: readonly WrongShape[] = [
  {
    kind: "SharedSecret",
    what: "a list at a key of data",
    path: ["spec", "data", "a"],
    value: (secret) => [secret],
    field: "spec.data.a",
  },
  {
    kind: "SharedSecret",
    what: "an object at a key of data",
    path: ["spec", "data", "a"],
    value: (secret) => ({ b: secret }),
    field: "spec.data.a",
  },
  {
    kind: "SharedSecret",
    what: "text at data",
    path: ["spec", "data"],
    value: (secret) => secret,
    field: "spec.data",
  },
  {
    kind: "SharedSecret",
    what: "a list at data",
    path: ["spec", "data"],
    value: (secret) => [{ a: secret }],
    field: "spec.data",
  },
  {
    kind: "SharedSecret",
    what: "text at spec",
    path: ["spec"],
    value: (secret) => secret,
    field: "spec",
  },
  {
    kind: "OwnedAccessKey",
    what: "a list at key",
    path: ["spec", "key"],
    value: (secret) => [secret],
    field: "spec.key",
  },
  {
    kind: "OwnedAccessKey",
    what: "an object at key",
    path: ["spec", "key"],
    value: (secret) => ({ value: secret }),
    field: "spec.key",
  },
  {
    kind: "OwnedAccessKey",
    what: "a list at connectorData",
    path: ["spec", "identity", "connectorData"],
    value: (secret) => [secret],
    field: "spec.identity.connectorData",
  },
  {
    kind: "OwnedAccessKey",
    what: "a list at identity",
    path: ["spec", "identity"],
    value: (secret) => [{ connectorData: secret }],
    field: "spec.identity",
  },
  {
    kind: "OwnedAccessKey",
    what: "an object at a token of the login",
    path: ["spec", "oidcLogin", "refreshToken"],
    value: (secret) => ({ value: secret }),
    field: "spec.oidcLogin.refreshToken",
  },
  {
    kind: "DirectClusterEndpointToken",
    what: "a list at the token of the status",
    path: ["status", "token"],
    value: (secret) => [secret],
    field: "status.token",
  },
];

const canary = (): string => `canary.${randomBytes(12).toString("hex")}`;
const nested = (path: readonly string[], value: unknown): Record<string, unknown> =>
  Object.fromEntries([[path[0] ?? "", path.length === 1 ? value : nested(path.slice(1), value)]]);

describe.skipIf(inject("gateway") === undefined)(
  "the body of a request through the gateway",
  () => {
    const admins = unique("admins");
    /** Secrets that no log, metric or audit log may show. */
    const sent: string[] = [];
    let key: KnownKey;

    const specs: Readonly<Record<KindName, object>> = {
      SharedSecret: { data: { a: "b25l" } },
      OwnedAccessKey: { user: "alice", groups: [admins], ttl: 600 },
      DirectClusterEndpointToken: { ttl: 600 },
    };

    const through = async ({ path, ...request }: GatewayRequest) => {
      const { status, text } = await askGateway({
        key: key.key,
        path: managementPath + path,
        ...request,
      });
      return { status, text, message: stringAt(parsed(text), "message") ?? "" };
    };
    const patch = (path: string, type: string, body: string | Buffer, headers: object = {}) =>
      through({ method: "PATCH", path, headers: { "content-type": type, ...headers }, body });

    /** An object that exists. */
    const made = async (kind: KindName): Promise<string> => {
      const name = unique("body");
      await api.create(collectionOf(kind), objectOf(kind, name, specs[kind]));
      return `${collectionOf(kind)}/${name}`;
    };

    /** A SharedSecret whose data no answer to a wrong request may have. */
    const stored = async () => {
      const secret = Buffer.from(canary()).toString("base64");
      const name = unique("stored");
      const collection = collectionOf("SharedSecret");
      await api.create(collection, objectOf("SharedSecret", name, { data: { a: secret } }));
      return { path: `${collection}/${name}`, secret };
    };

    beforeAll(async () => {
      await bind({ kind: "Group", name: admins }, "cluster-admin");
      key = await makeKey({ spec: { user: "alice", groups: [admins] } });
      await eventually(async () => (await through({ path: "/version" })).status === 200, {
        what: "the key to work",
      });
    });

    describe.each(wrongShapes)("of a $kind with $what", ({ kind, path, value, field }) => {
      const subresource = path[0] === "status" ? "/status" : "";

      it("is refused in every way to write it, without the secret", async () => {
        const secret = canary();
        sent.push(secret);
        const target = (await made(kind)) + subresource;
        const name = unique("wrong");
        const wrong = nested(path, value(secret));
        const object = { ...objectOf(kind, name, specs[kind]), ...wrong };
        const [begin = ""] = path;
        const operations = [
          [{ op: "add", path: `/${path.join("/")}`, value: value(secret) }],
          [{ op: "replace", path: `/${begin}`, value: wrong[begin] }],
          [{ op: "replace", path: "", value: object }],
        ];
        const apply = `${target}?fieldManager=test&force=true`;
        const create = { method: "POST", path: collectionOf(kind) } as const;
        const put = { method: "PUT", path: target } as const;
        const json = { headers: { "content-type": "application/json" } };
        const yaml = { headers: { "content-type": "application/yaml" } };
        const answers = [
          await patch(apply, patchTypes.apply, JSON.stringify(object)),
          await patch(apply, patchTypes.apply, dump(object)),
          await patch(apply, patchTypes.apply, `---\n${dump(object, { flowLevel: 1 })}`),
          await patch(`${apply}&dryRun=All`, patchTypes.apply, JSON.stringify(object)),
          await patch(target, patchTypes.merge, JSON.stringify(wrong)),
          ...(await Promise.all(
            operations.map((each) => patch(target, patchTypes.json, JSON.stringify(each))),
          )),
          await through({ ...put, ...json, body: JSON.stringify(object) }),
          await through({ ...put, ...yaml, body: dump(object) }),
          ...(subresource === ""
            ? [
                await through({ ...create, ...json, body: JSON.stringify(object) }),
                await through({ ...create, ...yaml, body: dump(object), http2: true }),
              ]
            : []),
        ];
        for (const { status, message } of answers)
          expect({ status, message }).toEqual({
            status: 422,
            message: expect.stringMatching(`^${field}: must be an? (?:string|object), and is an? `),
          });
        const texts = answers.map(({ text }) => text).join("\n");
        expect(formsOf(secret).filter((form) => texts.includes(form))).toEqual([]);
      });
    });

    it.each([
      ["a label that is a number, by a merge patch", "merge", { metadata: { labels: { a: 1 } } }],
      ["no kind, by a merge patch", "merge", { kind: null }],
      ["no kind, by a JSON patch", "json", [{ op: "remove", path: "/kind" }]],
      [
        "a label that is a number, by a JSON patch",
        "json",
        [{ op: "add", path: "/metadata/labels", value: { a: 1 } }],
      ],
    ] as const)(
      "with %s is refused, and kube-apiserver would repeat the object",
      async (...row) => {
        const [, type, body] = row;
        const { path, secret } = await stored();
        const answer = await patch(path, patchTypes[type], JSON.stringify(body));
        expect([answer.status, answer.text.includes(secret)]).toEqual([422, false]);
        const direct = await ask(admin, { method: "PATCH", path, type: patchTypes[type], body });
        expect([direct.code, direct.message.includes(secret)]).toEqual([422, true]);
      },
    );

    // What docs/security.md says of it.
    it("is repeated by kube-apiserver itself, or is not", async () => {
      const { path, secret } = await stored();
      const [name, collection] = [unique("direct"), collectionOf("OwnedAccessKey")];
      const given = { user: "alice", key: [secret] };
      const wrong = objectOf("OwnedAccessKey", name, given);
      const { kind: _, ...unnamed } = objectOf("OwnedAccessKey", name, { key: secret });
      const unknown = { spec: { unknown: 1 } };
      const typo = objectOf("SharedSecret", path.split("/").at(-1) ?? "", unknown.spec);
      const apply = "?fieldManager=test";
      const rows: readonly (readonly [request: Ask, code: number, isRepeated: boolean])[] = [
        [patching(`${collection}/${name}${apply}`, "apply", wrong), 500, true],
        [patching(`${path}?fieldValidation=Strict`, "merge", unknown), 422, true],
        [{ method: "POST", path: collection, body: unnamed }, 400, true],
        [patching(path + apply, "apply", typo), 500, false],
        [{ method: "POST", path: collection, body: wrong }, 422, false],
      ];
      for (const [request, code, isRepeated] of rows) {
        const answer = await ask(admin, request);
        expect([request, answer.code, answer.message.includes(secret)]).toEqual([
          request,
          code,
          isRepeated,
        ]);
      }
    });

    it.each(["SharedSecret", "OwnedAccessKey"] as const)(
      "of a %s that is well-formed arrives in every format",
      async (kind) => {
        // A key may change the keys that it created.
        const name = unique("good");
        const path = `${collectionOf(kind)}/${name}`;
        const created = await through({
          method: "POST",
          path: collectionOf(kind),
          headers: { "content-type": "application/json" },
          body: JSON.stringify(objectOf(kind, name, specs[kind])),
        });
        expect(created.status).toBe(201);
        const apply = `${path}?fieldManager=test&force=true`;
        const object = (displayName: string) =>
          objectOf(kind, name, { ...specs[kind], displayName });
        const bodies = [
          [apply, patchTypes.apply, JSON.stringify(object("JSON"))],
          [apply, patchTypes.apply, `# é\n---\n${dump(object("YAML"))}`],
          [apply, `${patchTypes.apply}; charset=utf-8`, dump(object("flow"), { flowLevel: 0 })],
          [path, patchTypes.merge, JSON.stringify({ spec: { displayName: "merge" } })],
          [
            path,
            patchTypes.json,
            JSON.stringify([
              { op: "test", path: "/spec/displayName", value: "merge" },
              { op: "replace", path: "/spec/displayName", value: "json" },
              { op: "add", path: "/metadata/annotations", value: { "example.com/a": "b" } },
            ]),
          ],
        ] as const;
        const seen: unknown[] = [];
        for (const [target, type, body] of bodies)
          for (const headers of [{}, { "transfer-encoding": "chunked" }]) {
            const { status, text } = await patch(target, type, body, headers);
            expect([type, status, status === 200 ? "" : text]).toEqual([type, 200, ""]);
            // The JSON patch tests for what it replaces.
            if (type === patchTypes.json) {
              seen.push(recordAt(parsed(text), "spec")["displayName"]);
              break;
            }
            seen.push(recordAt(parsed(text), "spec")["displayName"]);
          }
        expect(seen).toEqual([
          "JSON",
          "JSON",
          "YAML",
          "YAML",
          "flow",
          "flow",
          "merge",
          "merge",
          "json",
        ]);
        const { spec } = await api.get(path);
        expect(spec).toMatchObject(specs[kind]);
      },
    );

    it("of a manifest that kubectl applies arrives, and of a wrong one is named", async () => {
      const name = unique("applied");
      const manifest = (data: unknown): string => dump(objectOf("SharedSecret", name, { data }));
      const apply = (input: string) =>
        kubectlThrough(key.key, ["apply", "--server-side", "--filename=-"], { input });
      expect(await apply(manifest({ a: "b25l" }))).toMatchObject({ code: 0, stderr: "" });
      const { data } = (await api.get(`${collectionOf("SharedSecret")}/${name}`)).spec ?? {};
      expect(data).toEqual({ a: "b25l" });
      const secret = canary();
      sent.push(secret);
      const { code, stderr } = await apply(manifest({ a: [secret] }));
      expect([code, stderr.includes(secret)]).toEqual([1, false]);
      expect(stderr).toContain("spec.data.a: must be a string, and is a list");
    });

    it.each([
      ["POST", "application/vnd.kubernetes.protobuf", {}],
      ["PUT", "application/vnd.kubernetes.protobuf", {}],
      ["POST", "application/json", { "content-encoding": "gzip" }],
      ["PATCH", patchTypes.apply, { "content-encoding": "gzip" }],
      ["PATCH", patchTypes.merge, { "content-encoding": "gzip" }],
      ["PATCH", patchTypes.json, { "content-encoding": "gzip" }],
      ["PATCH", "application/vnd.kubernetes.protobuf", {}],
      ["PATCH", "application/strategic-merge-patch+json", {}],
      ["PATCH", "application/apply-patch+cbor", {}],
    ] as const)("is 415 as %s of %s %j", async (method, type, headers) => {
      for (const kind of [
        "SharedSecret",
        "OwnedAccessKey",
        "DirectClusterEndpointToken",
      ] as const) {
        const path = collectionOf(kind) + (method === "POST" ? "" : `/${unique("none")}`);
        const body = gzipSync(JSON.stringify(objectOf(kind, "a", specs[kind])));
        const fields = { "content-type": type, ...headers };
        const { status, message } = await through({ method, path, headers: fields, body });
        expect([status, message]).toEqual([
          415,
          expect.stringContaining("without Content-Encoding"),
        ]);
      }
    });

    it.each([
      ["its length", {}],
      ["its bytes", { "transfer-encoding": "chunked" }],
    ])("is 413 by %s if it is larger than 3 MiB", async (_by, headers) => {
      const path = `${collectionOf("SharedSecret")}/${unique("large")}`;
      const body = JSON.stringify({ spec: { description: "x".repeat(3 * 1024 * 1024) } });
      for (const type of Object.values(patchTypes)) {
        const { status } = await patch(path, type, body, headers).catch(() => ({ status: 0 }));
        // The answer to a body that is still sent may be lost with its connection.
        expect([413, 0]).toContain(status);
      }
      const { status } = await through({
        method: "PATCH",
        path,
        headers: { "content-type": patchTypes.merge, ...headers },
        body,
        http2: true,
      }).catch(() => ({ status: 0 }));
      expect([413, 0]).toContain(status);
    });

    it("shows no secret in the logs and metrics of the gateway, and in no audit log", async () => {
      expect(sent.length).toBeGreaterThan(wrongShapes.length);
      const { logs = [], metricsUrls = [] } = inject("gateway") ?? {};
      const { auditLog } = inject("controller");
      const files = [...logs, ...(auditLog === undefined ? [] : [auditLog])];
      const outputs = [
        ...files.map((file) => readFileSync(file, "utf8")),
        ...(await Promise.all(
          metricsUrls.map(async (url) => (await fetch(`${url}/metrics`)).text()),
        )),
      ];
      const shown = sent
        .flatMap(formsOf)
        .filter((form) => outputs.some((text) => text.includes(form)));
      expect(shown).toEqual([]);
    });
  },
);

function patching(path: string, type: keyof typeof patchTypes, body: unknown): Ask {
  return { method: "PATCH", path, type: patchTypes[type], body };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
