import { describe, expect, it } from "vitest";
import { connectedPolicies, unknownPolicy } from "../../src/domain/gateway/connected-policy.ts";
import { secretWriteRefusal } from "../../src/domain/gateway/derived-credentials-policy.ts";
import type { Routes } from "../../src/domain/gateway/request-target.ts";
import { emptyScope } from "../support/empty-scope.ts";
import { authorizeAgain } from "../../src/gateway/admit-request.ts";
import { refusalOf } from "../../src/gateway/credential.ts";
import { type FakeRequest, headOf } from "../support/fake-exchange.ts";
import { type FakeGatewayDeps, fakeGatewayDeps } from "./gateway-deps.ts";
import { aliceKey, keyOf } from "../support/gateway-fixture.ts";
import { admitRequest } from "../support/admit-request.ts";

const nothing = { ...emptyScope, clusters: ["elsewhere"] };
const none = "a-key-that-nobody-has";

/** Admits a request; an unknown key waits for its retry. */
async function admit(request: FakeRequest, deps: FakeGatewayDeps = fakeGatewayDeps()) {
  const admitted = admitRequest(headOf(request), deps);
  await deps.clock.run(100);
  return admitted;
}

describe("a request is refused", () => {
  it.each<[string, FakeRequest, number]>([
    ["that has odd characters, before its key is looked at", { path: "/a\\b", key: none }, 400],
    ["whose method is not served, before its key", { method: "TRACE", key: none }, 405],
    ["that RequestInfo cannot read", { path: "/api/v1/watch" }, 400],
    ["without a key", { key: null }, 401],
    ["with a key that no object has", { key: none }, 401],
    ["with two credentials", { fields: ["authorization", "Bearer x"] }, 400],
    ["with impersonation", { fields: ["Impersonate-User", "root"] }, 403],
  ])("%s", async (_what, request, status) => {
    expect(await admit(request)).toMatchObject({ kind: "refusal", status });
  });

  it.each<[string, string]>([
    ["without a key", "/nowhere"],
    ["without a key of a cluster", "/kubernetes/cluster/east/api"],
  ])("with 401 %s before its path is looked at", async (_what, target) => {
    const deps = fakeGatewayDeps();
    const head = { ...headOf({ key: null }), target };
    expect(await admitRequest(head, deps)).toMatchObject({ status: 401 });
    const known = { ...headOf({}), target };
    expect(await admitRequest(known, deps)).toMatchObject({ status: 404 });
  });

  it.each([
    ["/api?timeout=32s", "the path /api; the address"],
    ["/apis/apps/v1/canary", "the path /apis; the address"],
    ["/canary/api", "this path; the address"],
  ])("with 404 that names the path %.20s, and what to set", async (target, named) => {
    const head = { ...headOf({}), target };
    const message =
      `nothing is served at ${named} of the server in the kubeconfig must end with ` +
      "/kubernetes/management or /kubernetes/cluster/CLUSTER or " +
      "/kubernetes/project/PROJECT/virtualcluster/NAME or /kubernetes/project/PROJECT/space/NAME";
    expect(await admitRequest(head, fakeGatewayDeps())).toMatchObject({ status: 404, message });
  });

  it.each([
    ["an empty step", "//"],
    ["a step to its parent", "/a/.."],
    ["%2F", "/a%2Fb"],
    ["no resource", "/api/v1/watch"],
    ["two values of watch", "/api/v1/pods?watch=1&watch=0"],
    ["a field selector without a value", "/api/v1/pods?fieldSelector=metadata.name"],
    ["1,001 parameters", `/api?${"&".repeat(1_000)}`],
  ])("with 400 for a path with %s, and with 401 without a key", async (_what, path) => {
    const routes = new Proxy<Routes>([], { get: () => expect.unreachable("the path is read") });
    const withRoutes = { ...fakeGatewayDeps(), routes };
    expect(await admitRequest(headOf({ path, key: null }), withRoutes)).toMatchObject({
      status: 401,
    });
    expect(await admit({ path })).toMatchObject({ status: 400, cause: "malformed" });
  });

  it.each<[string, Parameters<typeof keyOf>[1]]>([
    ["of a disabled key", { disabled: true }],
    ["of an expired key", { ttl: 1 }],
  ])("with the same 401 %s as without a key", async (_what, spec) => {
    const deps = fakeGatewayDeps();
    deps.clock.advance(60_000);
    deps.keys.set(aliceKey, keyOf("alice", spec));
    expect(await admit({}, deps)).toEqual(await admit({ key: null }));
    expect(deps.used).toEqual([]);
  });

  it("with 503 while the keys are not known", async () => {
    const deps = fakeGatewayDeps();
    deps.state.isFresh = false;
    expect(await admit({}, deps)).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
  });

  it.each([["alice "], [" alice"], ["a\nb"], ["a\tb"]])(
    "if its user %j would arrive as another",
    async (user) => {
      const deps = fakeGatewayDeps();
      deps.keys.set(aliceKey, keyOf("alice", { user }));
      expect(await admit({}, deps)).toMatchObject({ status: 403, cause: "identity" });
    },
  );

  it("outside of the scope of its key", async () => {
    const deps = fakeGatewayDeps();
    deps.keys.set(aliceKey, keyOf("alice", { scope: nothing }));
    expect(await admit({}, deps)).toMatchObject({ status: 403, cause: "scope" });
  });
});

describe("the time of a 401", () => {
  it.each<[string, string, (deps: FakeGatewayDeps) => void]>([
    ["unknown", none, () => {}],
    ["disabled", aliceKey, ({ keys }) => keys.set(aliceKey, keyOf("alice", { disabled: true }))],
  ])("is 100 ms for a key that is %s", async (_what, key, arrange) => {
    const deps = fakeGatewayDeps();
    arrange(deps);
    let isOver = false;
    void admitRequest(headOf({ key }), deps).then(() => (isOver = true));
    await deps.clock.run(99);
    expect(isOver).toBe(false);
    await deps.clock.run(1);
    await admit({});
    expect(isOver).toBe(true);
  });

  it("is over for the first of 1,001 keys that wait", async () => {
    const deps = fakeGatewayDeps();
    const first = admitRequest(headOf({ key: none }), deps);
    for (let index = 0; index < 1_000; index += 1) void admitRequest(headOf({ key: none }), deps);
    expect(await first).toMatchObject({ status: 401 });
    expect(deps.clock.pending).toBe(1_000);
    await deps.clock.run(100);
    expect(deps.clock.pending).toBe(0);
    void admitRequest(headOf({ key: none }), deps);
    expect(deps.clock.pending).toBe(1);
  });
});

describe("an admitted request", () => {
  it("is known with its user, its upstream and what its scope has to allow", async () => {
    const deps = fakeGatewayDeps();
    const path = "/api/v1/namespaces/web/pods/a/exec?command=ls";
    expect(await admit({ path }, deps)).toMatchObject({
      kind: "admitted",
      method: "GET",
      framing: { kind: "none" },
      upstream: { kind: "management" },
      target: { path: "/api/v1/namespaces/web/pods/a/exec", query: "?command=ls" },
      required: [{ verb: "get" }, { verb: "create" }],
      user: { username: "alice", groups: ["devs"] },
    });
    expect([deps.used, deps.results]).toEqual([["uid-alice"], ["authenticated"]]);
  });

  it("is not allowed any more when its key is not valid", async () => {
    const deps = fakeGatewayDeps();
    const admitted = await admit({}, deps);
    if (admitted.kind !== "admitted") throw new Error("not admitted");
    expect(authorizeAgain(admitted, deps).kind).toBe("no-opinion");
    deps.keys.set(aliceKey, keyOf("alice", { disabled: true }));
    expect(authorizeAgain(admitted, deps)).toMatchObject({ kind: "denied" });
    expect(admitted.credential.isValid()).toBe(false);
    deps.keys.delete(aliceKey);
    expect(authorizeAgain(admitted, deps)).toMatchObject({ kind: "denied" });
    expect(admitted.credential.isValid()).toBe(false);
    deps.state.isFresh = false;
    expect(authorizeAgain(admitted, deps)).toMatchObject({ kind: "not-ready" });
  });
});

describe("a request in progress is not allowed any more when its object", () => {
  const { key, ...others } = keyOf("alice");
  it.each([
    ["has another key", { ...others, key: { ...key, keyDigest: "another" } }],
    ["has no key", { ...others, key: { ...key, keyDigest: undefined } }],
    ["acts as another user", { ...others, key: { ...key, spec: { ...key.spec, user: "bob" } } }],
    ["acts in other groups", { ...others, key: { ...key, spec: { ...key.spec, groups: [] } } }],
    ["acts as no user", { ...others, key: { ...key, spec: { ...key.spec, user: "system:a" } } }],
  ])("%s", async (_what, changed) => {
    const deps = fakeGatewayDeps();
    const admitted = await admit({}, deps);
    if (admitted.kind !== "admitted") throw new Error("not admitted");
    deps.keys.set(aliceKey, { ...others, key: { ...key } });
    expect(authorizeAgain(admitted, deps)).toMatchObject({ kind: "no-opinion" });
    deps.keys.set(aliceKey, changed);
    const decision = authorizeAgain(admitted, deps);
    expect(decision).toMatchObject({ kind: "denied" });
    expect(refusalOf(decision, admitted.credential)).toMatchObject({ status: 401 });
  });
});

describe("where the policy about Secrets is missing", () => {
  const scope = { ...emptyScope, projects: ["*"], clusters: ["*"] };
  it.each<[string, Parameters<typeof keyOf>[1], FakeRequest, string]>([
    ["refuses a scoped key that writes a Secret", { scope }, { method: "POST" }, "refusal"],
    ["admits a key without a scope", {}, { method: "POST" }, "admitted"],
    ["admits a scoped key that reads one", { scope }, {}, "admitted"],
  ])("%s", async (_what, spec, request, kind) => {
    const deps = fakeGatewayDeps();
    deps.keys.set(aliceKey, keyOf("alice", spec));
    const server = deps.findUpstream({ kind: "management" });
    if (server === undefined) throw new Error("no server");
    const problem = unknownPolicy(connectedPolicies.derivedCredentials);
    const secrets = { problem: () => Promise.resolve(problem) };
    const target = "/kubernetes/cluster/east/api/v1/namespaces/web/secrets";
    const admitted = await admitRequest(
      { ...headOf({ ...request, key: aliceKey }), target },
      { ...deps, findUpstream: () => ({ ...server, secrets }) },
    );
    expect(admitted).toMatchObject(kind === "refusal" ? secretWriteRefusal(problem) : { kind });
  });
});

describe("a decision that is not to forward", () => {
  const denied = { kind: "denied", reason: "r" } as const;
  it.each([
    ["503", { kind: "not-ready", reason: "r" } as const, true, 503],
    ["401, of a credential that is not valid", denied, false, 401],
    ["403, of a valid credential", denied, true, 403],
    ["500, that is none", { kind: "no-opinion" } as const, true, 500],
  ])("is %s", (_what, decision, isValid, status) => {
    expect(refusalOf(decision, { isValid: () => isValid }).status).toBe(status);
  });
});
