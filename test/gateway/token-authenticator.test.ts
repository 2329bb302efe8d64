import { describe, expect, it } from "vitest";
import { type Scope, writeScope } from "../../src/api/scope.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import type { TokenClaims } from "../../src/domain/endpoint-token/token-claims.ts";
import { namedUpstream } from "../../src/domain/gateway/connected-cluster.ts";
import { directRoutes } from "../../src/domain/gateway/request-target.ts";
import { emptyScope } from "../support/empty-scope.ts";
import { authorizeAgain } from "../../src/gateway/admit-request.ts";
import { refusalOf } from "../../src/gateway/credential.ts";
import { tokenAuthenticator } from "../../src/gateway/token-authenticator.ts";
import { parseSigningKeys, publicJwks } from "../../src/tokens/signing-keys.ts";
import { parseVerificationKeys } from "../../src/tokens/verification-keys.ts";
import { VerifiedTokens } from "../../src/tokens/verified-tokens.ts";
import { mintToken } from "../../src/tokens/direct-token.ts";
import { eventually } from "../support/eventually.ts";
import { type FakeRequest, headOf } from "../support/fake-exchange.ts";
import { rawSigningKeys } from "../support/fake-informers.ts";
import { fakeGatewayDeps } from "./gateway-deps.ts";
import { admitRequest } from "../support/admit-request.ts";
import { TestClock } from "../support/test-clock.ts";
import { unansweredDiscovery } from "../support/unanswered-discovery.ts";

const signingKeys = parseSigningKeys(rawSigningKeys());
const common = "management.service/direct";
const origin = { issuer: "https://latchkey.example", audiences: [`${common}/east`, common] };
const service = "management.service";
const scope = (fields: Partial<Scope>) => JSON.stringify(writeScope({ ...emptyScope, ...fields }));
const roles = new Map([
  [
    "viewer",
    [
      {
        apiGroups: [""],
        resources: ["pods"],
        verbs: ["get", "list"],
        resourceNames: [],
        nonResourceURLs: [],
      },
    ],
  ],
]);
const readPods = {
  verbs: ["get"],
  resources: [{ group: "", resources: ["pods"] }],
  resourceNames: [],
  namespaces: [],
  nonResourceURLs: [],
  requestTargets: [],
  cluster: "",
  virtualClusters: [],
};

const role = (name: string, project: string) => ({
  role: name,
  projects: [project],
  virtualClusters: [],
});

/** The pipeline of a direct endpoint of the cluster `east`, and tokens for it. */
function endpoint(clusterName = "east") {
  const parsed = parseVerificationKeys(Buffer.from(JSON.stringify(publicJwks(signingKeys))));
  if (!parsed.ok) throw new Error(parsed.reason);
  const published = parsed.keys;
  const clock = new TestClock();
  const tokens = new VerifiedTokens(published, origin);
  const state = {
    keys: published,
    refreshes: 0,
    hasNew: false,
    isListKnown: true,
    issuerAnswers: Promise.resolve(),
    roles,
  };
  const revoked = new Set<string>();
  const results: string[] = [];
  const use = (keys: typeof published): void => {
    state.keys = keys;
    tokens.replaceKeys(keys);
  };
  const authenticator = tokenAuthenticator({
    tokens,
    clock,
    namespace: "latchkey-system",
    keys: {
      has: (kid) => state.keys.has(kid),
      problems: () => (state.keys.size === 0 ? ["no signing keys"] : []),
      async refresh() {
        state.refreshes += 1;
        await state.issuerAnswers;
        if (state.hasNew) use(published);
        return state.hasNew;
      },
    },
    revoked: { has: (jti) => revoked.has(jti), isKnown: () => state.isListKnown },
    roles: { current: () => state.roles },
    prefixes: { user: "central:", groups: "team:" },
    onResult: (result) => void results.push(result),
  });
  const { findUpstream } = fakeGatewayDeps();
  const deps = {
    authenticator,
    routes: directRoutes(namedUpstream(clusterName)),
    findUpstream: () => server,
  };
  const server = findUpstream({ kind: "management" });
  async function token(claims: Partial<TokenClaims> = {}): Promise<string> {
    const now = Math.floor(clock.now() / 1000);
    const good: TokenClaims = {
      iss: origin.issuer,
      aud: common,
      sub: "alice",
      jti: "uid-token",
      iat: now,
      nbf: now,
      exp: now + 60,
      groups: ["devs"],
      [service]: { name: "laptop" },
    };
    return SecretText.reveal((await mintToken({ ...good, ...claims }, signingKeys)).token);
  }
  const admit = (key: string | null, request: Omit<FakeRequest, "key"> = {}) =>
    admitRequest(
      { ...headOf({ ...request, key }), target: `/kubernetes/cluster${request.path ?? "/api"}` },
      deps,
    );
  return { clock, state, revoked, results, use, token, admit, deps };
}

describe("a request with a direct token", () => {
  it("is admitted as the user and the groups of the token, with the prefixes of the cluster", async () => {
    const { admit, token, results } = endpoint();
    expect(await admit(await token())).toMatchObject({
      kind: "admitted",
      upstream: { kind: "cluster", cluster: "east" },
      target: { path: "/api" },
      user: {
        username: "central:alice",
        groups: ["team:devs"],
        extra: { "management.service/credential-id": ["uid-token"] },
      },
      credential: { id: "uid-token" },
    });
    expect(results).toEqual(["authenticated"]);
  });

  it.for<[string, Partial<TokenClaims>]>([
    ["of another issuer", { iss: "https://other.example" }],
    ["for another audience", { aud: "other" }],
    ["for another cluster", { aud: `${common}/west` }],
    ["that has expired", { exp: 1 }],
    ["of a user of Kubernetes", { sub: "system:admin" }],
    ["with an invalid scope", { [service]: { name: "laptop", scope: "{" } }],
  ])("is refused with the 401 of a request without a token, %s", async ([, claims]) => {
    const { admit, token } = endpoint();
    const refused = await admit(await token(claims));
    expect(refused).toMatchObject({ kind: "refusal", status: 401 });
    expect(refused).toEqual(await admit(null));
  });

  it.for<[string, Partial<Scope>, string, number | undefined]>([
    ["of this cluster", { clusters: ["east"] }, "/api/v1/pods", undefined],
    ["of another cluster", { clusters: ["west"] }, "/api/v1/pods", 403],
    ["of the central cluster", { projects: ["a"] }, "/api/v1/namespaces/a/pods", 403],
    [
      "of a role, though it is built in",
      { roles: [{ role: "serviceCLI", projects: [], virtualClusters: [] }] },
      "/api/v1/namespaces",
      403,
    ],
    ["of a rule", { rules: [readPods] }, "/api/v1/namespaces/a/pods/b", undefined],
    [
      "of a rule for another resource",
      { rules: [readPods] },
      "/api/v1/namespaces/a/secrets/b",
      403,
    ],
  ])("is limited by a scope %s", async ([, fields, path, status]) => {
    const { admit, token } = endpoint();
    const limited = await token({ [service]: { name: "l", scope: scope(fields) } });
    const result = await admit(limited, { path });
    expect(result.kind === "refusal" ? result.status : undefined).toBe(status);
  });

  it.for<[string, Partial<Scope>, number | undefined]>([
    ["covers what it permits in the project", { roles: [role("viewer", "web")] }, undefined],
    ["covers nothing in another project", { roles: [role("viewer", "pay")] }, 403],
    ["that is not published covers nothing", { roles: [role("editor", "web")] }, 403],
  ])("a role %s of a virtual cluster", async ([, fields, status]) => {
    const { admit, state, token } = endpoint("web/vc");
    const limited = await token({ [service]: { name: "l", scope: scope(fields) } });
    const asked = { path: "/api/v1/namespaces/a/pods" };
    const admitted = { kind: "admitted" };
    const refused = { status, cause: "scope" };
    expect(await admit(limited, asked)).toMatchObject(status === undefined ? admitted : refused);
    state.roles = new Map();
    expect(await admit(limited, asked)).toMatchObject({ status: 403, cause: "scope" });
  });

  it("needs every one of several scopes", async () => {
    const { admit, token } = endpoint();
    const both = `[${scope({ clusters: ["east"] })},${scope({ clusters: ["west"] })}]`;
    const limited = await token({ [service]: { name: "l", scope: both } });
    const refused = await admit(limited, { path: "/api/v1/pods" });
    expect(refused).toMatchObject({ status: 403, cause: "scope" });
  });

  it("is 404 outside of the path of the cluster", async () => {
    const { deps, token } = endpoint();
    for (const target of ["/api", "/kubernetes/management/api", "/kubernetes/clusters/api"]) {
      const head = { ...headOf({ key: await token() }), target };
      expect(await admitRequest(head, deps)).toMatchObject({ status: 404 });
    }
  });

  it("is 503 while no keys are known", async () => {
    const { admit, token, use } = endpoint();
    expect(await admit(await token())).toMatchObject({ kind: "admitted" });
    use(new Map());
    expect(await admit(await token())).toMatchObject({ status: 503 });
  });
});

describe("a revoked token", () => {
  it("is refused with the 401 of a request without a token, though it was accepted before", async () => {
    const { admit, token, revoked, results } = endpoint();
    const text = await token();
    expect(await admit(text)).toMatchObject({ kind: "admitted" });
    revoked.add("uid-token");
    expect(await admit(text)).toEqual(await admit(null));
    expect(await admit(await token({ jti: "uid-other" }))).toMatchObject({ kind: "admitted" });
    expect(results).toEqual(["authenticated", "revoked", "authenticated"]);
  });

  it("learns nothing about paths", async () => {
    const { deps, token, revoked } = endpoint();
    const head = { ...headOf({ key: await token() }), target: "/kubernetes/management/api" };
    expect(await admitRequest(head, deps)).toMatchObject({ status: 404 });
    revoked.add("uid-token");
    expect(await admitRequest(head, deps)).toMatchObject({ status: 401 });
  });

  it("is refused while its request waits for discovery", async () => {
    const { deps, token, revoked } = endpoint();
    const credential = await deps.authenticator.authenticate(
      new SecretText(await token()),
      "192.0.2.1",
    );
    if (credential.kind === "refusal") throw new Error("refused");
    const decision = credential.authorize(
      { kind: "path", verb: "get", path: "/api" },
      { upstream: { kind: "cluster", cluster: "east" }, server: undefined },
    );
    revoked.add("uid-token");
    expect(await decision).toEqual({ kind: "denied", reason: "the token was revoked" });
  });

  it.for(["a valid token", "a revoked token", "no token that was ever valid"])(
    "is not distinguished from others while no list is known: %s is 503",
    async (which) => {
      const { admit, token, state, revoked, results } = endpoint();
      if (which === "a revoked token") revoked.add("uid-token");
      state.isListKnown = false;
      const text = which.startsWith("no") ? "e30.e30.e30" : await token();
      expect(await admit(text)).toMatchObject({ status: 503, cause: "not-ready" });
      expect(results).toEqual([]);
    },
  );
});

describe("a token of a key that is not known", () => {
  const otherNames = (keys: ReturnType<typeof endpoint>["state"]["keys"]) =>
    new Map([...keys].map(([, key]) => ["other", key] as const));

  it("is accepted as soon as the key is published", async () => {
    const { admit, token, state, use } = endpoint();
    use(otherNames(state.keys));
    state.hasNew = true;
    expect(await admit(await token())).toMatchObject({ kind: "admitted" });
    expect(state.refreshes).toBe(1);
  });

  it("waits for the issuer; the oldest of more than 1,000 is refused at once", async () => {
    const { admit, token, state, use } = endpoint();
    use(otherNames(state.keys));
    const answered = Promise.withResolvers<void>();
    state.issuerAnswers = answered.promise;
    const text = await token();
    let over = 0;
    const ask = () => admit(text).finally(() => (over += 1));
    const [oldest, ...others] = Array.from({ length: 1_000 }, ask);
    await eventually(() => state.refreshes === 1_000, { what: "1,000 tokens to wait" });
    others.push(ask());
    expect(await oldest).toMatchObject({ status: 401 });
    expect([state.refreshes, over]).toEqual([1_001, 1]);
    state.hasNew = true;
    answered.resolve();
    const kinds = (await Promise.all(others)).map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(["admitted"]));
  });

  it("keeps its place when another address sends many", async () => {
    const { deps, token, state, use } = endpoint();
    use(otherNames(state.keys));
    const answered = Promise.withResolvers<void>();
    state.issuerAnswers = answered.promise;
    const text = new SecretText(await token());
    const honest = deps.authenticator.authenticate(text, "192.0.2.2");
    const flood = Array.from({ length: 1_100 }, () =>
      deps.authenticator.authenticate(text, "192.0.2.1"),
    );
    await Promise.all(flood.slice(0, 101));
    state.hasNew = true;
    answered.resolve();
    expect(await honest).toMatchObject({ kind: "credential" });
  });

  it("is refused if it is not published", async () => {
    const { admit, token, state, use, results } = endpoint();
    use(otherNames(state.keys));
    expect(await admit(await token())).toMatchObject({ status: 401 });
    expect(results).toEqual(["unknown-kid"]);
  });
});

it("a request of a client that leaves waits for discovery no longer", async () => {
  const { deps, token } = endpoint();
  const limited = await token({ [service]: { name: "l", scope: scope({ rules: [readPods] }) } });
  const credential = await deps.authenticator.authenticate(new SecretText(limited), "192.0.2.1");
  const server = deps.findUpstream();
  if (credential.kind === "refusal" || server === undefined) throw new Error("refused");
  const [discovery, leaving] = [unansweredDiscovery(), new AbortController()];
  const decision = credential.authorize(
    {
      kind: "resource",
      verb: "get",
      group: "",
      resource: "pods",
      subresource: "",
      namespace: "a",
      name: "b",
    },
    { upstream: { kind: "cluster", cluster: "east" }, server: { ...server, discovery } },
    leaving,
  );
  leaving.abort(new Error("the client left"));
  await expect(decision).rejects.toThrow("the client left");
  expect(discovery.waiting()).toBe(0);
});

describe("a request in progress", () => {
  const admitted = async (setup: ReturnType<typeof endpoint>) => {
    const result = await setup.admit(await setup.token());
    if (result.kind !== "admitted") throw new Error("not admitted");
    return result;
  };

  it("ends with its token", async () => {
    const setup = endpoint();
    const request = await admitted(setup);
    expect(authorizeAgain(request, setup.deps)).toEqual({ kind: "no-opinion" });
    const left = request.credential.endsAt() - setup.clock.now();
    expect(left).toBeGreaterThan(58_000);
    setup.clock.advance(left);
    expect(authorizeAgain(request, setup.deps)).toMatchObject({ kind: "denied" });
    expect(request.credential.isValid()).toBe(false);
  });

  it("ends when the key that signed its token is removed", async () => {
    const setup = endpoint();
    const request = await admitted(setup);
    setup.use(new Map());
    expect(authorizeAgain(request, setup.deps)).toMatchObject({ kind: "denied" });
    expect(request.credential.isValid()).toBe(false);
  });

  it("ends when its token is revoked", async () => {
    const setup = endpoint();
    const request = await admitted(setup);
    setup.revoked.add("uid-token");
    const decision = authorizeAgain(request, setup.deps);
    expect(decision).toEqual({ kind: "denied", reason: "the token was revoked" });
    expect(request.credential.isValid()).toBe(false);
    if (decision.kind === "no-opinion") throw new Error("not denied");
    expect(refusalOf(decision, request.credential)).toMatchObject({ status: 401 });
  });

  it("ends with 503 when it is not known any more which tokens are revoked", async () => {
    const setup = endpoint();
    const request = await admitted(setup);
    setup.state.isListKnown = false;
    expect(authorizeAgain(request, setup.deps)).toMatchObject({ kind: "not-ready" });
    expect(request.credential.isValid()).toBe(true);
  });
});
