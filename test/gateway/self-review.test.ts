import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { ReviewedRequest } from "../../src/api/access-review.ts";
import type { ResourceScope } from "../../src/api/discovery.ts";
import { parseScopeLimit } from "../../src/api/scope.ts";
import { requestInfo } from "../../src/domain/gateway/request-info.ts";
import { gatewayHandler } from "../../src/gateway/gateway-handler.ts";
import type { GatewayUpstream } from "../../src/gateway/upstreams.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { FakeExchange, type FakeRequest } from "../support/fake-exchange.ts";
import type { FakeForwarding } from "../support/fake-forwarder.ts";
import { aliceKey, keyOf } from "../support/gateway-fixture.ts";
import { runsAtLength } from "../support/property-runs.ts";
import { settled } from "../support/test-clock.ts";
import { enveloped, specOf } from "../domain/gateway/review-protobuf.ts";
import { anyScope } from "../domain/scope/arbitraries.ts";
import { fakeGatewayDeps, bodyBytes } from "./gateway-deps.ts";

const base = "/apis/authorization.k8s.io/v1";
const access = `${base}/selfsubjectaccessreviews`;
const rules = `${base}/selfsubjectrulesreviews`;
const apiVersion = "authorization.k8s.io/v1";
const kind = "SelfSubjectAccessReview";
const protobuf = "application/vnd.kubernetes.protobuf";

const served: Readonly<Record<string, Exclude<ResourceScope, "Unknown">>> = {
  pods: "Namespaced",
  secrets: "Namespaced",
  serviceaccounts: "Namespaced",
  deployments: "Namespaced",
  namespaces: "Cluster",
  nodes: "Cluster",
};
const discovery = {
  known: (_group: string, plural: string) => served[plural],
  find: async (_group: string, plural: string) => served[plural] ?? "Unknown",
};

const readsPods = {
  rules: [
    {
      verbs: ["get", "list"],
      resources: [{ group: "", resources: ["pods", "nodes", "namespaces"] }],
      namespaces: ["web", ""],
    },
  ],
};

/** What a test changes about the gateway. */
interface Given {
  readonly scope?: unknown;
  readonly server?: Partial<GatewayUpstream>;
}

interface Sent extends FakeRequest {
  readonly body?: string | Buffer | null;
}

async function asking({ body = "", ...request }: Sent, { scope = readsPods, server }: Given = {}) {
  const deps = fakeGatewayDeps();
  const limit = scope === "none" ? {} : { scope: parseScopeLimit(scope) };
  deps.keys.set(aliceKey, keyOf("alice", limit));
  const upstream = deps.findUpstream({ kind: "management" });
  if (upstream === undefined) throw new Error("no upstream");
  const found = { ...upstream, discovery, ...server };
  const exchange = new FakeExchange({
    method: "POST",
    path: access,
    ...request,
    fields: [
      ...(body === null ? [] : ["Content-Length", String(body.length)]),
      ...(request.fields ?? []),
    ],
  });
  gatewayHandler({ ...deps, findUpstream: () => found }).onExchange(exchange);
  if (body !== null) exchange.body.end(body);
  await settled();
  const { forwardings } = deps.forwarder;
  const [forwarded] = forwardings;
  return { deps, exchange, forwarded };
}

const json = (spec: object) => JSON.stringify({ apiVersion, kind, spec });
const about = (attributes: object) => json({ resourceAttributes: attributes });
const getPods = { namespace: "web", verb: "get", resource: "pods" };
const ofType = (type: string, ...others: readonly string[]) => ["Content-Type", type, ...others];

/** The review that the API server is asked. */
function askedIn(forwarded: FakeForwarding | undefined): { readonly spec: Spec } {
  const { body } = forwarded?.request ?? {};
  return JSON.parse(Buffer.isBuffer(body) ? body.toString() : "null");
}

interface Spec {
  readonly resourceAttributes?: object;
}

/** The status of a denied review; undefined for any other answer. */
function denialOf({ answer, text }: FakeExchange): unknown {
  return answer?.status === 201 ? JSON.parse(text).status : undefined;
}

describe("whether a scoped key may do something", () => {
  it.each<[string, readonly string[], string | Buffer]>([
    ["JSON", ofType("application/json"), about(getPods)],
    ["JSON without its type", [], about(getPods)],
    [
      "YAML",
      ofType("application/yaml"),
      "spec:\n  resourceAttributes: {namespace: web, verb: get, resource: pods}\n",
    ],
    [
      "protobuf",
      ofType(protobuf, "Accept", `${protobuf},application/json`),
      enveloped({ 2: specOf(getPods) }),
    ],
  ])(
    "is asked of the API server in JSON where the scope allows it: %s",
    async (_what, fields, body) => {
      const { exchange, forwarded, deps } = await asking({
        fields: [...fields, "Accept-Encoding", "gzip"],
        body,
      });
      const { headers, target } = forwarded?.request ?? { headers: new Array<string>() };
      const header = (name: string) => headers[headers.indexOf(name) + 1];
      expect([target, header("accept"), header("content-type")]).toEqual([
        access,
        "application/json",
        "application/json",
      ]);
      expect([headers.includes("accept-encoding"), header("impersonate-user")]).toEqual([
        false,
        "alice",
      ]);
      expect(askedIn(forwarded)).toEqual({
        apiVersion,
        kind,
        metadata: {},
        spec: { resourceAttributes: getPods },
      });
      forwarded?.answer(201, '{"status":{"allowed":false,"reason":"of the API server"}}');
      await settled();
      expect([exchange.answer?.status, exchange.text]).toEqual([
        201,
        '{"status":{"allowed":false,"reason":"of the API server"}}',
      ]);
      expect(bodyBytes(deps.bodies)).toBe(0);
    },
  );

  it.each<[string, object, string]>([
    ["another verb", { ...getPods, verb: "delete" }, "does not allow delete pods in namespace web"],
    ["every verb", { ...getPods, verb: "*" }, "no entry of the scope covers it"],
    ["another namespace", { ...getPods, namespace: "pay" }, "no entry of the scope covers it"],
    [
      "all namespaces",
      { ...getPods, namespace: "", verb: "list" },
      "no entry of the scope covers it",
    ],
    ["any pod of all namespaces", { ...getPods, namespace: "" }, "ask for one"],
    ["every resource", { ...getPods, resource: "*" }, "ask for one"],
    ["every group", { ...getPods, group: "*" }, "ask for one"],
    ["another group", { ...getPods, group: "apps", resource: "deployments" }, "no entry"],
    ["a subresource", { ...getPods, subresource: "log" }, "get pods/log in namespace web"],
    ["every subresource", { ...getPods, subresource: "*" }, "get pods/* in namespace web"],
    [
      "a resource with a slash",
      { ...getPods, resource: "pods/log" },
      "does not serve this resource",
    ],
    [
      "a resource that is not served",
      { ...getPods, resource: "podz" },
      "does not serve this resource",
    ],
    ["any namespace", { verb: "get", resource: "namespaces" }, "ask for one"],
    ["a write of Secrets", { ...getPods, resource: "secrets", verb: "*" }, "no entry"],
  ])("is no where the scope does not cover %s", async (_what, attributes, reason) => {
    const { exchange, forwarded, deps } = await asking({ body: about(attributes) });
    expect(forwarded).toBeUndefined();
    expect(denialOf(exchange)).toEqual({
      allowed: false,
      denied: true,
      reason: expect.stringContaining(reason),
    });
    expect(JSON.parse(exchange.text)).toMatchObject({
      apiVersion,
      kind,
      spec: { resourceAttributes: attributes },
    });
    expect([deps.answers, deps.refusals, bodyBytes(deps.bodies)]).toEqual([["create 201"], [], 0]);
  });

  it("is no for another namespace, also if it is asked in a namespace of the scope", async () => {
    const scope = { rules: [{ namespaces: ["web"] }] };
    for (const [name, status] of [
      ["pay", 201],
      ["web", undefined],
    ] as const) {
      const body = about({ ...getPods, resource: "namespaces", name });
      expect((await asking({ body }, { scope })).exchange.answer?.status).toBe(status);
    }
  });

  it("is no for nodes that are asked for in a namespace of the scope", async () => {
    const scope = { rules: [{ namespaces: ["web"] }] };
    const { exchange } = await asking(
      { body: about({ ...getPods, resource: "nodes" }) },
      { scope },
    );
    expect(denialOf(exchange)).toMatchObject({
      reason: expect.stringContaining("get nodes: no entry"),
    });
  });

  it.each<[string, object, string | undefined]>([
    ["of nodes in no namespace", { ...getPods, resource: "nodes", verb: "list" }, ""],
    ["of a namespace in itself", { ...getPods, resource: "namespaces", name: "web" }, "web"],
    [
      "of a namespace in itself, whatever is asked",
      { namespace: "pay", verb: "get", resource: "namespaces", name: "web" },
      "web",
    ],
    ["of namespaces in no namespace", { ...getPods, resource: "namespaces", verb: "list" }, ""],
  ])("is asked %s, as the request itself is", async (_what, attributes, namespace) => {
    const { forwarded } = await asking({ body: about(attributes) });
    expect(askedIn(forwarded).spec.resourceAttributes).toEqual({
      ...attributes,
      namespace,
    });
  });

  it("is about the last of two fields with one name, for gateway and API server", async () => {
    const twice =
      '{"spec":{"resourceAttributes":{"namespace":"pay","namespace":"web","verb":"get","resource":"pods"}}}';
    const { forwarded } = await asking({ body: twice });
    expect(JSON.stringify(askedIn(forwarded))).not.toContain("pay");
    const { exchange } = await asking({
      body: twice.replace("pay", "web").replace('"web","verb"', '"pay","verb"'),
    });
    expect(denialOf(exchange)).toMatchObject({ allowed: false });
  });

  it.each<[string, unknown, string, string]>([
    ["below another path", { rules: [{ nonResourceURLs: ["/logs/*"] }] }, "/metrics", "no entry"],
    [
      "of all that begin so",
      { rules: [{ nonResourceURLs: ["/logs/a", "/logs/a*"] }] },
      "/logs/a*",
      "no entry",
    ],
    ["that is a resource", { rules: [{}] }, "/api/v1/pods", "ask about the resource"],
    ["that is discovery, to change it", {}, "/api", "no entry"],
  ])("is no for a path %s", async (_what, scope, path, reason) => {
    const verb = path === "/api" ? "post" : "get";
    const { exchange, forwarded } = await asking(
      { body: json({ nonResourceAttributes: { verb, path } }) },
      { scope },
    );
    expect([forwarded, denialOf(exchange)]).toEqual([
      undefined,
      expect.objectContaining({ reason: expect.stringContaining(reason) }),
    ]);
  });

  it.each(["/logs/*", "/logs/a*", "/logs/a", "/api", "/api/*"])(
    "is asked for the path %s in the scope",
    async (path) => {
      const scope = { rules: [{ nonResourceURLs: ["/logs/*"] }] };
      const spec = { nonResourceAttributes: { verb: "get", path } };
      const { forwarded } = await asking({ body: json(spec) }, { scope });
      expect(askedIn(forwarded).spec).toEqual(spec);
    },
  );

  it("needs create as well for exec with get", async () => {
    const scope = {
      rules: [{ verbs: ["get"], resources: [{ group: "", resources: ["pods/*"] }] }],
    };
    const may = async (subresource: string) =>
      (await asking({ body: about({ ...getPods, subresource }) }, { scope })).forwarded !==
      undefined;
    expect([await may("log"), await may("exec"), await may("*")]).toEqual([true, false, false]);
  });

  it.each<[string, object, number]>([
    ["is no where writes of Secrets are refused", { kind: "not-enforced", fact: "why" }, 201],
    ["is not answered while that is not known", { kind: "unknown", fact: "why" }, 503],
  ])("%s", async (_what, problem, status) => {
    const scope = { rules: [{ resources: [{ group: "", resources: ["secrets"] }] }] };
    for (const verb of ["create", "*"]) {
      const body = about({ ...getPods, resource: "secrets", verb });
      const secrets = { problem: async () => problem } as GatewayUpstream["secrets"] & object;
      const { exchange, forwarded } = await asking({ body }, { scope, server: { secrets } });
      expect([forwarded, exchange.answer?.status]).toEqual([undefined, status]);
      expect(exchange.text).toContain("why");
    }
  });

  it("is not answered while discovery fails", async () => {
    const find = () => Promise.reject(new KubeError("no", { code: "ServerError", status: 500 }));
    const server = { discovery: { known: () => undefined, find } };
    const { exchange, forwarded } = await asking({ body: about(getPods) }, { server });
    expect([forwarded, exchange.answer?.status]).toEqual([undefined, 503]);
  });

  it.each<[string, readonly string[], string | Buffer | null, number]>([
    ["in another format", ofType("application/cbor"), about(getPods), 415],
    [
      "that is compressed",
      ofType("application/json", "Content-Encoding", "gzip"),
      about(getPods),
      415,
    ],
    [
      "whose client takes no JSON",
      ofType(protobuf, "Accept", protobuf),
      enveloped({ 2: specOf(getPods) }),
      415,
    ],
    ["without a body", [], null, 400],
    ["that is empty", ofType("application/json"), "", 400],
    ["that is no JSON", ofType("application/json"), "{", 400],
    ["that is JSON and called protobuf", ofType(protobuf), about(getPods), 400],
    [
      "that is protobuf and called JSON",
      ofType("application/json"),
      enveloped({ 2: specOf(getPods) }),
      400,
    ],
    ["that is no YAML", ofType("application/yaml"), "a: [", 400],
    [
      "with an anchor",
      ofType("application/yaml"),
      "spec: {resourceAttributes: &a {namespace: web, verb: get, resource: pods}}",
      400,
    ],
    ["with 60,000 brackets", ofType("application/yaml"), "[".repeat(60_000), 400],
    ["with 60,000 brackets in JSON", ofType("application/json"), "[".repeat(60_000), 400],
    ["with many parts", ofType("application/yaml"), "a: b\n".repeat(1_000), 400],
    ["with two documents", ofType("application/yaml"), "spec: {}\n---\nspec: {}\n", 400],
    [
      "with an unknown field",
      ofType("application/json"),
      about({ ...getPods, namespaces: ["web"] }),
      400,
    ],
    [
      "about two things",
      ofType("application/json"),
      json({ resourceAttributes: getPods, nonResourceAttributes: { path: "/" } }),
      400,
    ],
    [
      "of more than 64 KiB",
      ofType("application/json"),
      about({ ...getPods, name: "x".repeat(65_536) }),
      413,
    ],
  ])("%s is refused", async (_what, fields, body, status) => {
    const { exchange, forwarded, deps } = await asking({ fields, body });
    expect([forwarded, exchange.answer?.status]).toEqual([undefined, status]);
    expect(exchange.status).toMatchObject({ kind: "Status", code: status });
    expect(bodyBytes(deps.bodies)).toBe(0);
  });

  it("of more than 64 KiB is refused without a length, too", async () => {
    const body = about({ ...getPods, name: "x".repeat(65_536) });
    const { exchange } = await asking({ body: null, fields: ["Transfer-Encoding", "chunked"] });
    exchange.body.end(body);
    await settled();
    expect(exchange.answer?.status).toBe(413);
  });

  it.each(["?dryRun=All", "?fieldManager=a&pretty=true", "/name"])(
    "is judged with %s, too",
    async (suffix) => {
      const body = about({ ...getPods, verb: "delete" });
      const { exchange } = await asking({ path: access + suffix, body });
      expect(denialOf(exchange)).toMatchObject({ allowed: false });
      const { forwarded } = await asking({ path: access + suffix, body: about(getPods) });
      expect(forwarded?.request.target).toBe(access + suffix);
    },
  );

  it("is judged at a path of an earlier version, too", async () => {
    const path = access.replace("v1", "v1beta1");
    const { exchange } = await asking({ path, body: about({ ...getPods, verb: "delete" }) });
    expect(denialOf(exchange)).toMatchObject({ allowed: false });
  });

  it("ends when the client leaves, when the gateway stops, and when the key ends", async () => {
    const left = await asking({ body: about(getPods) });
    left.exchange.close();
    expect([
      left.forwarded?.isAborted,
      left.deps.inFlight.loadOf("answers", { user: "", key: "" }).all,
    ]).toEqual([true, 0]);
    const revoked = await asking({ body: about(getPods) });
    revoked.deps.keys.clear();
    revoked.deps.inFlight.changed();
    await revoked.deps.clock.run(1_000);
    expect(revoked.exchange.answer?.status).toBe(401);
  });
});

describe("other credentials", () => {
  const body = enveloped({ 2: specOf(getPods) });

  it("without a scope pass their review as it is", async () => {
    const { forwarded } = await asking(
      { fields: ofType(protobuf, "Accept", protobuf), body },
      { scope: "none" },
    );
    const { headers, body: sent } = forwarded?.request ?? { headers: new Array<string>() };
    expect([Buffer.isBuffer(sent), headers[headers.indexOf("accept") + 1]]).toEqual([
      false,
      protobuf,
    ]);
  });

  it("without a scope are limited below a space", async () => {
    const deps = fakeGatewayDeps();
    const head = new FakeExchange({ method: "POST", fields: ["Content-Length", "9"] });
    const target = `/kubernetes/project/web/space/blue${access}`;
    const exchange = Object.assign(head, { head: { ...head.head, target } });
    const found = deps.findUpstream({ kind: "management" });
    gatewayHandler({ ...deps, findUpstream: () => found && { ...found, discovery } }).onExchange(
      exchange,
    );
    exchange.body.end(about({ ...getPods, resource: "nodes" }));
    await settled();
    expect(denialOf(exchange)).toMatchObject({
      reason: expect.stringContaining("must name a namespace of the space"),
    });
  });
});

describe("what a scoped key may do", () => {
  const status = {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    nonResourceRules: [],
    incomplete: false,
  };
  const answered = JSON.stringify({
    apiVersion,
    kind: "SelfSubjectRulesReview",
    metadata: {},
    spec: {},
    status,
  });
  const body = Buffer.concat([enveloped({ 2: { 1: "web" } }, { 1: {} })]);
  const fields = ofType(
    protobuf,
    "Accept",
    `${protobuf},application/json`,
    "Accept-Encoding",
    "gzip",
  );
  const asked = () => asking({ path: rules, fields, body });

  it("is what the API server says, in JSON, and incomplete", async () => {
    const { exchange, forwarded } = await asked();
    const { headers, body: sent } = forwarded?.request ?? { headers: new Array<string>() };
    const header = (name: string) => headers[headers.indexOf(name) + 1];
    expect([header("accept"), header("content-type"), sent]).toEqual([
      "application/json",
      protobuf,
      body,
    ]);
    forwarded?.answer(201, answered);
    await settled();
    expect(exchange.answer?.status).toBe(201);
    expect(JSON.parse(exchange.text).status).toEqual({
      ...status,
      incomplete: true,
      evaluationError: expect.stringContaining("narrows"),
    });
    const { headers: shown = [] } = exchange.answer ?? {};
    expect(shown[shown.indexOf("content-length") + 1]).toBe(
      String(Buffer.byteLength(exchange.text)),
    );
  });

  it.each([[400], [403], [404]])(
    "that the API server refuses with %i is answered so",
    async (code) => {
      const { exchange, forwarded } = await asked();
      forwarded?.answer(code, '{"kind":"Status"}');
      await settled();
      expect([exchange.answer?.status, exchange.text]).toEqual([code, '{"kind":"Status"}']);
    },
  );

  it("is never an answer that cannot be read", async () => {
    const { exchange, forwarded } = await asked();
    forwarded?.answer(201, "k8s\0");
    await settled();
    expect(exchange.answer?.status).toBe(502);
  });
});

describe("a review of a request", () => {
  const places = [
    "/api/v1/namespaces/ns",
    "/api/v1/namespaces/other",
    "/api/v1/namespaces/kube-system",
    "/api/v1",
  ];
  const objects = ["pods", "secrets", "serviceaccounts", "nodes", "namespaces"].flatMap(
    (plural) => [plural, `${plural}/web`],
  );
  const path = fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(
          fc.constantFrom(...places),
          fc.constantFrom(...objects),
          fc.constantFrom("", "", "/log", "/token", "/exec"),
        )
        .map((parts) => `${parts[0]}/${parts[1]}${parts[1].includes("/") ? parts[2] : ""}`),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "/logs",
        "/logs/a",
        "/metrics",
        "/api",
        "/version/",
        "/api/v1/namespaces/ns",
        "/api/v1/namespaces/kube-system",
      ),
    },
  );
  const method = fc.constantFrom("GET", "GET", "POST", "PATCH", "DELETE");

  const attributesOf = (request: ReviewedRequest): string => {
    if (request.kind === "resource") return about({ ...request, kind: undefined });
    return json({ nonResourceAttributes: { verb: request.verb, path: request.path } });
  };

  test("is asked of the API server exactly where the request itself is forwarded", async () => {
    await fc.assert(
      fc.asyncProperty(anyScope, method, path, async (scope, by, at) => {
        const request = requestInfo(by as "GET", { path: at, query: "" });
        if (request.kind === "malformed") throw new Error(request.reason);
        const made = await asking(
          { method: by, path: at, body: by === "GET" ? null : "{}" },
          { scope },
        );
        const review = await asking({ body: attributesOf(request) }, { scope });
        const isMade = made.forwarded !== undefined;
        expect([made.exchange.answer?.status, review.forwarded !== undefined]).toEqual([
          isMade ? undefined : 403,
          isMade,
        ]);
        const denied = expect.objectContaining({ allowed: false });
        expect(denialOf(review.exchange)).toEqual(isMade ? undefined : denied);
      }),
      runsAtLength(150, 5_000),
    );
  });
});
