import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose";
import { Agent, fetch } from "undici";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { stringAt } from "../../src/api/parse.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { issuerCa } from "../support/gateway-address.ts";
import { eventually } from "../support/eventually.ts";
import {
  allowRequesters,
  eventsAbout,
  historyOf,
  make,
  pathOf,
  tryToMake,
  viewIn,
  viewOf,
  type Own,
  type OwnView,
  type WantedOwn,
} from "../support/keys-and-tokens.ts";
import { kubectl } from "../support/kubectl.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import {
  api,
  as,
  request,
  answered,
  ask,
  patchTypes,
  unique,
  type Caller,
} from "../support/policy-request.ts";

const kind = "DirectClusterEndpointToken";
const collection = "/apis/management.service/v1/directclusterendpointtokens";
const requesters = unique("requesters");
const alice: Caller = { user: "alice", groups: ["devs", "ops", requesters] };
const bob: Caller = { user: "bob", groups: ["devs", requesters] };
const issuer = "https://latchkey.latchkey-system.svc";
const audience = "management.service/direct";
const forged = {
  "management.service/requester": "mallory",
  "management.service/requester-groups": "admins",
  "management.service/requester-uid": "0",
};
const instant = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
const seconds = (count: number) => count * 1000;
const day = 86_400;

/** An issued token of alice, and its status. */
async function minted(wanted: WantedOwn = {}): Promise<{ own: Own; view: OwnView; token: string }> {
  const own = await make(kind, { by: alice, ...wanted });
  const view = await eventually(
    async () => {
      const seen = await viewOf(own);
      return seen.conditions.Ready?.status === "True" && seen;
    },
    { what: `${own.name} to be minted` },
  );
  return { own, view, token: view.token ?? "" };
}

/** Verifies a token like a connected cluster, with the keys that the controller publishes. */
async function verify(token: string) {
  const { url } = inject("controller");
  const keys = createRemoteJWKSet(new URL("/openid/v1/jwks", url));
  const requiredClaims = ["iss", "sub", "aud", "iat", "nbf", "exp", "jti"];
  return jwtVerify(token, keys, {
    algorithms: ["ES256"],
    issuer,
    audience,
    typ: "JWT",
    requiredClaims,
    clockTolerance: 1,
  });
}

beforeAll(() => allowRequesters(requesters));

afterAll(expectNoTrouble);

describe.skipIf(!inject("hasPolicies"))(
  "a DirectClusterEndpointToken",
  { concurrent: true },
  () => {
    it("can be verified with the published keys and contains its user and scope", async () => {
      const scope = { projects: [{ project: "web" }] };
      const { own, token } = await minted({ spec: { ttl: 600, scope } });
      const { payload, protectedHeader } = await verify(token);
      const endsAt = own.createdAt / 1000 + 600;
      expect(payload).toEqual({
        iss: issuer,
        sub: "alice",
        aud: audience,
        iat: expect.any(Number),
        nbf: payload.iat,
        exp: endsAt,
        jti: own.uid,
        groups: ["devs", "ops", requesters],
        "management.service": { scope: JSON.stringify(scope), name: own.name },
      });
      expect(payload.iat).toBeGreaterThanOrEqual(own.createdAt / 1000);
      expect(protectedHeader).toMatchObject({ alg: "ES256", kid: (await viewOf(own)).keyID });
    });

    it.each<[string, WantedOwn, object]>([
      [
        "its annotation names, without a scope",
        { annotations: { "management.service/audience-cluster": "east" } },
        { aud: `${audience}/east`, "management.service": { name: expect.any(String) } },
      ],
      [
        "is the only one in its scope",
        { spec: { scope: { clusters: [{ cluster: "east" }] } } },
        {
          aud: `${audience}/east`,
          "management.service": { scope: '{"clusters":[{"cluster":"east"}]}' },
        },
      ],
    ])("is for the cluster that %s", async (_what, wanted, claims) => {
      const { token } = await minted(wanted);
      expect(decodeJwt(token)).toMatchObject(claims);
    });

    it("has alice as requester regardless of the annotations that she sends", async () => {
      const { token } = await minted({ annotations: forged });
      expect(decodeJwt(token)).toMatchObject({ sub: "alice", groups: ["devs", "ops", requesters] });
    });

    it("has no scope if the spec has none", async () => {
      const { own, token } = await minted();
      expect(decodeJwt(token)["management.service"]).toEqual({ name: own.name });
    });

    const lives = [
      {
        rule: "is valid for an hour by default",
        spec: {},
        ttl: 3600,
        message: /^The token is valid until \S+Z\.$/,
      },
      {
        rule: "is valid for an hour with a ttl of 0",
        spec: { ttl: 0 },
        ttl: 3600,
        message: /^The token is valid until \S+Z\.$/,
      },
      {
        rule: "is valid for its ttl",
        spec: { ttl: 7200 },
        ttl: 7200,
        message: /^The token is valid until \S+Z\.$/,
      },
      {
        rule: "is valid for at most a day, and reports that",
        spec: { ttl: 2 * day },
        ttl: day,
        message: /spec.ttl of 2d exceeds the configured maximum of 24h/,
      },
    ];
    it.each(lives)("$rule", async ({ spec, ttl, message }) => {
      const { own, view, token } = await minted({ spec });
      expect(decodeJwt(token).exp).toBe(own.createdAt / 1000 + ttl);
      expect(view).toMatchObject({
        settled: true,
        expiresAt: instant(own.createdAt + seconds(ttl)),
        conditions: { Expired: { status: "False" } },
      });
      expect(view.conditions.Ready?.message).toMatch(message);
    });

    it("is removed when it expires, not earlier, and this is reported once", async () => {
      const { own, token } = await minted({ spec: { ttl: 15 } });
      const end = own.createdAt + seconds(15);
      const over = {
        Ready: { status: "False", reason: "Expired" },
        Expired: { status: "True" },
        Stalled: { status: "True" },
      };
      await becomes("the token to expire", () => viewOf(own), {
        settled: true,
        conditions: over,
        token: undefined,
      });
      const states = (await historyOf(own)).map(({ object }) => viewIn(object));
      expect(states.at(-2)).toMatchObject({ token, conditions: { Ready: { status: "True" } } });
      expect(
        Date.parse(states.at(-1)?.conditions.Expired?.lastTransitionTime ?? ""),
      ).toBeGreaterThanOrEqual(end);
      expect(decodeJwt(token).exp).toBe(end / 1000);
      await becomes("the Event", () => eventsAbout(own), ["Expired"]);
      expect(await api.find(own.path)).toMatchObject({ code: 200 });
    });

    const unsupported: { who: string; by: Caller; reason?: string }[] = [
      {
        who: "a service account",
        by: {
          user: "system:serviceaccount:default:ci",
          groups: ["system:serviceaccounts", requesters],
        },
      },
      {
        who: "a request with an access key that does not exist",
        by: { ...alice, extra: { "management.service/key-id": ["k-17"] } },
        reason: "ParentKeyInvalid",
      },
    ];
    it.each(unsupported)(
      "is not issued for $who",
      async ({ by, reason = "UnsupportedRequester" }) => {
        const own = await make(kind, { by });
        const Ready = { status: "False", reason };
        await becomes("the refusal", () => viewOf(own), {
          settled: true,
          token: undefined,
          conditions: { Ready, Stalled: { status: "True" } },
        });
      },
    );

    const long = (count: number) => ({
      clusters: Array.from({ length: count }, (_, index) => ({
        cluster: `production-cluster-${index}`,
      })),
    });
    it("is issued with a long scope, up to what a direct endpoint accepts", async () => {
      const { token } = await minted({ spec: { scope: long(120) } });
      expect(token.length).toBeGreaterThan(6_000);
      expect(token.length).toBeLessThanOrEqual(8_192);
    });

    it("is not issued if a direct endpoint would refuse it, and reports the length", async () => {
      const own = await make(kind, { by: alice, spec: { scope: long(250) } });
      const Ready = { status: "False", reason: "TokenTooLarge" };
      await becomes("the refusal", () => viewOf(own), {
        settled: true,
        token: undefined,
        conditions: { Ready, Stalled: { status: "True" }, Expired: { status: "False" } },
      });
      const { conditions } = await viewOf(own);
      expect(conditions.Ready?.message).toMatch(
        /^The token would have 1\d{4} characters, and a direct endpoint accepts at most 8192\. /,
      );
      await becomes("the Event", () => eventsAbout(own), ["TokenTooLarge"]);
      const path = own.path;
      // The status of a refusal does not wait for the grant.
      await becomes(
        "the requester to be allowed to delete the token",
        () => as(alice).delete(path),
        { code: 200 },
      );
      await becomesGone(path);
    });

    it("has an immutable spec", async () => {
      const own = await make(kind, { by: alice, spec: { ttl: 600 } });
      const widen = request.merge(own.path, { spec: { ttl: 6000 } });
      expect(await ask({}, widen)).toMatchObject(answered(422, "spec is immutable"));
    });

    it("is issued again if its status is cleared, with the same expiry", async () => {
      const { own, token } = await minted({ spec: { ttl: 600 } });
      const webhook = {
        user: "system:serviceaccount:latchkey-system:latchkey-webhook",
        groups: ["system:masters"],
      };
      const wipe = request.merge(`${own.path}/status`, { status: { token: null } });
      expect(await ask(webhook, wipe)).toMatchObject({ code: 200 });
      const again = await eventually(async () => (await viewOf(own)).token, {
        what: "another token",
      });
      expect(decodeJwt(again)).toMatchObject({ exp: decodeJwt(token).exp, jti: own.uid });
    });

    it("shows its name, requester and expiry in kubectl's table, and not the token", async () => {
      const { own, view, token } = await minted();
      const table = await kubectl(inject("controlPlane"), [
        "get",
        "dcet",
        own.name,
        "--output=wide",
      ]);
      expect(table).toMatch(new RegExp(`${own.name} +True +Minted +alice +${view.expiresAt}`));
      expect(table).not.toContain(token);
    });
  },
);

describe.skipIf(!inject("hasPolicies"))("alice's token", { concurrent: true }, () => {
  it("can be read, watched and deleted by alice", async () => {
    const { own, token } = await minted();
    expect(viewIn(await as(alice).get(own.path)).token).toBe(token);
    const watch = `watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D${own.name}&resourceVersion=${own.resourceVersion}`;
    const seen = await kubectl(inject("controlPlane"), [
      "get",
      "--raw",
      `${collection}?${watch}`,
      ...kubectlAs(alice),
    ]);
    expect(seen).toContain(token);
    expect(await as(alice).delete(own.path)).toMatchObject({ code: 200 });
    await becomesGone(own.path);
  });

  it("can be read by alice with kubectl get", async () => {
    const { own, token } = await minted();
    const read = [
      "get",
      "dcet",
      own.name,
      "--output=jsonpath={.status.token}",
      ...kubectlAs(alice),
    ];
    expect(await kubectl(inject("controlPlane"), read)).toBe(token);
  });

  it("can be used with kubectl wait by alice", async () => {
    const own = await make(kind, { by: alice });
    await becomes("the grant", () => as(alice).get(own.path), { code: 200 });
    const wait = [
      "wait",
      "--for=condition=Ready",
      "--timeout=60s",
      `dcet/${own.name}`,
      ...kubectlAs(alice),
    ];
    expect(await kubectl(inject("controlPlane"), wait)).toContain("condition met");
  });

  const actions = [
    { action: "get", path: (own: Own) => own.path, method: "GET" },
    {
      action: "watch",
      path: (own: Own) =>
        `${collection}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D${own.name}`,
      method: "GET",
    },
    { action: "list", path: () => collection, method: "GET" },
    { action: "delete", path: (own: Own) => own.path, method: "DELETE" },
    { action: "patch", path: (own: Own) => own.path, method: "PATCH" },
  ] as const;
  it.each(actions)(
    "does not allow bob to $action it, although he may create tokens himself",
    async ({ path, method }) => {
      const { own } = await minted();
      await minted({ by: bob });
      const patch =
        method === "PATCH"
          ? { type: patchTypes.merge, body: { metadata: { labels: { mine: "yes" } } } }
          : {};
      const answer = await ask(bob, { method, path: path(own), ...patch });
      expect(answer).toMatchObject(answered(403, 'User "bob" cannot'));
      expect(stringAt(answer, "message")).not.toContain("eyJ");
    },
  );

  it("does not allow alice to list tokens or to change hers", async () => {
    const { own } = await minted();
    expect(await as(alice).get(collection)).toMatchObject({ code: 403 });
    const patch = request.merge(own.path, { metadata: { labels: { mine: "yes" } } });
    expect(await ask(alice, patch)).toMatchObject({ code: 403 });
  });

  it("cannot be replaced by bob", async () => {
    const { own, token } = await minted();
    expect(await tryToMake(kind, { by: bob, name: own.name })).toMatchObject({ code: 409 });
    expect((await viewOf(own)).token).toBe(token);
    expect(await as(bob).get(pathOf(kind, own.name))).toMatchObject({
      code: 403,
    });
  });
});

describe.each(["http", "https"])("the published keys over %s", (protocol) => {
  let dispatcher: Agent;
  beforeAll(async () => {
    dispatcher = new Agent({ connect: { ca: await issuerCa(inject("controlPlane")) } });
  });
  afterAll(() => dispatcher.close());
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const { url, issuerUrl } = inject("controller");
    return fetch(new URL(path, protocol === "http" ? url : issuerUrl), { dispatcher, headers });
  };

  it("are public members of ES256 keys, cacheable for a minute", async () => {
    const response = await get("/openid/v1/jwks");
    const { keys } = JSON.parse(await response.text());
    expect(response.headers.get("cache-control")).toBe("public, max-age=60");
    for (const key of keys)
      expect(Object.keys(key).toSorted()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
    expect(keys.length).toBeGreaterThan(0);
  });

  it("are not sent again to a client that has them", async () => {
    const etag = (await get("/openid/v1/jwks")).headers.get("etag") ?? "";
    const again = await get("/openid/v1/jwks", { "if-none-match": etag });
    expect([again.status, await again.text()]).toEqual([304, ""]);
  });

  it("are linked from the discovery document of the issuer", async () => {
    const document: unknown = JSON.parse(
      await (await get("/.well-known/openid-configuration")).text(),
    );
    expect(document).toMatchObject({
      issuer,
      jwks_uri: `${issuer}/openid/v1/jwks`,
      id_token_signing_alg_values_supported: ["ES256"],
    });
  });
});

function kubectlAs({ user = "", groups = [] }: Caller): string[] {
  return [`--as=${user}`, ...groups.map((group) => `--as-group=${group}`)];
}
