import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EndpointToken } from "../../../src/api/endpoint-token.ts";
import type { Condition } from "../../../src/api/conditions.ts";
import { parseConditions, stringAt } from "../../../src/api/parse.ts";
import type { Requester } from "../../../src/api/requester.ts";
import { parseScopeLimit, type ScopeLimit } from "../../../src/api/scope.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import {
  type EndpointTokenDecision,
  planEndpointToken,
  planMinted,
  planTokenReport,
  planTooMany,
} from "../../../src/domain/endpoint-token/endpoint-token.ts";
import type { Plan } from "../../../src/domain/plan/plan.ts";
import { tokenClaims } from "../../../src/domain/endpoint-token/token-claims.ts";
import type { ObservedEndpointToken } from "../../../src/domain/endpoint-token/token-state.ts";
import { resolvedKeyWith } from "../../support/review-fixture.ts";
import { applyStatus, notesOf, statusPatch } from "../plan-model.ts";
import { born, deletedMetadata, observedMetadata } from "../../support/observed-objects.ts";

const alice = {
  kind: "known",
  name: "alice",
  uid: "u",
  groups: ["devs", "system:authenticated"],
} as const;
const unknown = { kind: "unknown", why: "nobody knows" } as const;
const minted = { token: new SecretText("the-token"), kid: "kid-1" };
const granted = { granted: true, named: true, namedByOthers: false };
const ungranted = { granted: false, named: false, namedByOthers: false };
const hour = 3_600_000;

interface Changes extends Partial<Omit<ObservedEndpointToken, "token" | "config">> {
  readonly token?: Partial<EndpointToken>;
  readonly config?: Partial<ObservedEndpointToken["config"]>;
}

function viewOf({ token = {}, config = {}, ...rest }: Changes = {}): ObservedEndpointToken {
  return {
    token: {
      metadata: observedMetadata(),
      spec: { limit: "none" },
      status: { observedGeneration: -1 },
      conditions: [],
      token: undefined,
      keyId: undefined,
      expiresAt: undefined,
      ...token,
    },
    requester: alice,
    grant: granted,
    knownKids: new Set(["kid-1"]),
    config: {
      issuer: "https://issuer",
      audience: "aud",
      maximumTokenTtl: 86_400,
      deleteExpiredTokensAfter: 60,
      ...config,
    },
    ...rest,
  };
}

/** The token after the status write of the plan. */
function after(view: ObservedEndpointToken, plan: Plan): ObservedEndpointToken {
  const status = applyStatus(view.token.status, plan);
  const token = status["token"] instanceof SecretText ? status["token"] : undefined;
  const seen = {
    status,
    token,
    conditions: parseConditions(status),
    keyId: stringAt(status, "keyID"),
    expiresAt: stringAt(status, "expiresAt"),
  };
  return { ...view, token: { ...view.token, ...seen } };
}

/** The token after this reconcile has minted it. */
function mintedView(changes: Changes = {}): ObservedEndpointToken {
  const view = viewOf(changes);
  return after(view, planMinted(view, minted, born));
}

function planOf(decision: EndpointTokenDecision): Plan {
  if (decision.kind === "mint") throw new Error("a token was ordered");
  return decision.plan;
}

function summary(conditions: readonly Condition[]): Record<string, string> {
  return Object.fromEntries(
    conditions.map(({ type, status, reason }) => [type, `${status}/${reason}`]),
  );
}

function messageOf(view: ObservedEndpointToken, type = "Ready"): string | undefined {
  return view.token.conditions.find((condition) => condition.type === type)?.message;
}

/** A token that is not ready for this reason. */
const waitsFor = (reason: string) => ({
  Ready: `False/${reason}`,
  Reconciling: `True/${reason}`,
  Expired: "False/NotExpired",
});
const refusedFor = (reason: string) => ({
  Ready: `False/${reason}`,
  Stalled: `True/${reason}`,
  Expired: "False/NotExpired",
});
const ended = { ...refusedFor("Expired"), Expired: "True/Expired" };
const parentWith = (...terms: Parameters<typeof resolvedKeyWith>) => ({
  parentKey: resolvedKeyWith(...terms),
});

describe("the report of a token that cannot be applied", () => {
  const failure = {
    kind: "failed",
    reason: "InternalError",
    message: "POST /x: 500",
    since: born,
  } as const;
  const lacking = waitsFor("ApplyFailed");

  test.each<[string, ObservedEndpointToken, Record<string, string>, number?]>([
    [
      "contains the failure while the grant is missing",
      viewOf({ failure, grant: ungranted }),
      lacking,
    ],
    ["contains the failure of a token that is not minted", viewOf({ failure }), lacking],
    ["contains the failure of a minted token", { ...mintedView(), failure }, lacking],
    ["keeps the reason of an expired token", { ...mintedView(), failure }, ended, hour],
    [
      "keeps the reason of a refused token",
      viewOf({ failure, requester: unknown }),
      refusedFor("UnknownRequester"),
    ],
  ])("%s", (_rule, view, expected, age = 0) => {
    const now = born + age;
    const reported = after(view, planTokenReport(view, now));
    expect(summary(reported.token.conditions)).toEqual(expected);
    expect(messageOf(reported)).toContain("POST /x: 500");
    expect(planTokenReport(reported, now + 1).steps).toEqual([]);
  });

  test("keeps a minted token and removes it at its expiry", () => {
    const view = { ...mintedView(), failure };
    expect(after(view, planTokenReport(view, born)).token).toMatchObject({
      token: minted.token,
      keyId: "kid-1",
    });
    expect(after(view, planTokenReport(view, born + hour)).token.token).toBeUndefined();
  });

  test("is also written by the reconcile that waits for the grant", () => {
    const view = viewOf({ failure, grant: ungranted });
    const { conditions } = after(view, planOf(planEndpointToken(view, born + 10_000))).token;
    expect(summary(conditions)).toEqual(lacking);
  });
});

describe("a token of a requester at its quota", () => {
  const reached = { requester: "alice", quota: 3, nextEnd: born + 60_000 };

  test("reports TooManyTokens, is not stalled and requeues at the next expiry", () => {
    const plan = planTooMany(viewOf(), reached, born);
    const { token } = after(viewOf(), plan);
    expect(summary(token.conditions)).toEqual(waitsFor("TooManyTokens"));
    expect(token.token).toBeUndefined();
    expect(plan.result).toEqual({ kind: "requeue-at", at: born + 60_000 });
    expect(messageOf(after(viewOf(), plan))).toBe(
      'Requester "alice" has 3 valid tokens, which is the limit; deleted tokens count until they expire. Latchkey mints the token when one of them expires.',
    );
  });

  test.each([
    [
      "after 10 s at the earliest, because many tokens may wait for the same expiry",
      born + 1,
      born + 10_000,
    ],
    ["at its own expiry at the latest", born + 2 * hour, born + hour],
  ])("requeues %s", (_rule, nextEnd, at) => {
    expect(planTooMany(viewOf(), { ...reached, nextEnd }, born).result).toEqual({
      kind: "requeue-at",
      at,
    });
  });

  test("does not repeat its status", () => {
    const view = after(viewOf(), planTooMany(viewOf(), reached, born));
    const later = { ...reached, nextEnd: born + 90_000 };
    expect(planTooMany(view, later, born + 60_000).steps).toEqual([]);
  });
});

describe("a token that no direct endpoint would accept", () => {
  const scoped = (characters: number): Changes => {
    const scope = `{"clusters":["${"x".repeat(characters)}"]}`;
    return { token: { spec: { scope, limit: "none" } } };
  };
  const refused = refusedFor("TokenTooLarge");
  const groups = Array.from({ length: 300 }, (_, index) => `oidc:a-long-group-name-${index}`);
  const clusters = Array.from({ length: 450 }, (_, at) => ({ cluster: `c-${at}` }));

  test.each<[string, Changes]>([
    ["for its scope", scoped(6_000)],
    ["before it is granted", { ...scoped(6_000), grant: ungranted }],
    ["for its groups", { requester: { ...alice, groups } }],
    ["for the scope of its parent key", parentWith({ scope: parseScopeLimit({ clusters }) })],
  ])("is refused %s, is stalled and is not minted", (_rule, changes) => {
    const view = viewOf(changes);
    const plan = planOf(planEndpointToken(view, born));
    const done = after(view, plan);
    expect(summary(done.token.conditions)).toEqual(refused);
    expect(messageOf(done)).toMatch(
      /^The token would have \d+ characters, and a direct endpoint accepts at most 8192\. Create another token with a narrower spec\.scope, or as a user in fewer groups \(this one has \d+\)\.$/,
    );
    expect(messageOf(done)).not.toContain("xxx");
    expect(done.token.token).toBeUndefined();
    expect(plan.result).toEqual({ kind: "requeue-at", at: born + hour });
    expect(notesOf(plan)).toEqual(["Warning TokenTooLarge generation 3"]);
    expect(planOf(planEndpointToken(done, born + 1)).steps).toEqual([]);
    expect(planTokenReport(done, born + 1).steps).toEqual([]);
  });

  test("is the first that has 8,193 characters", () => {
    const isMinted = (characters: number) =>
      planEndpointToken(viewOf(scoped(characters)), born).kind === "mint";
    const most = Array.from({ length: 7_000 }, (_, index) => index).findLastIndex(isMinted);
    const message = (characters: number) => {
      const view = viewOf(scoped(characters));
      return messageOf(after(view, planOf(planEndpointToken(view, born))));
    };
    // Three bytes are four characters.
    expect(message(most + 1)).toMatch(/^The token would have 819[3-6] characters/);
  });

  test("keeps a token that was minted before, until it has to be signed again", () => {
    const view = mintedView(scoped(6_000));
    expect(planOf(planEndpointToken(view, born)).steps).toEqual([]);
    const unsigned = { ...view, knownKids: new Set(["kid-2"]) };
    const plan = planOf(planEndpointToken(unsigned, born));
    expect(summary(after(unsigned, plan).token.conditions)).toEqual(refused);
    expect(statusPatch(plan)).toMatchObject({ token: null });
  });
});

describe("the audience of a token", () => {
  const forCluster = (name: string): Changes => ({
    token: {
      metadata: observedMetadata({
        annotations: { "management.service/audience-cluster": name },
      }),
    },
  });
  const clusters = (...names: readonly string[]): ScopeLimit =>
    parseScopeLimit({ clusters: names.map((cluster) => ({ cluster })) });
  const audienceOf = (changes: Changes): unknown => {
    const decision = planEndpointToken(viewOf(changes), born);
    return decision.kind === "mint"
      ? [decision.claims.aud, decision.claims["management.service"].scope !== undefined]
      : undefined;
  };

  test.each<[string, Changes, unknown]>([
    ["is that of every cluster", {}, ["aud", false]],
    ["is that of the annotation, without a scope", forCluster("east"), ["aud/east", false]],
    [
      "is that of the only cluster in the scope",
      { token: { spec: { scope: "{}", limit: clusters("east") } } },
      ["aud/east", true],
    ],
    [
      "is that of the only cluster in the scope of its key",
      parentWith({ scope: clusters("east") }),
      ["aud/east", true],
    ],
    [
      "is that of the annotation, with the scope of its key",
      { ...forCluster("east"), ...parentWith({ scope: clusters("east", "west") }) },
      ["aud/east", true],
    ],
  ])("%s", (_rule, changes, expected) => {
    expect(audienceOf(changes)).toEqual(expected);
  });

  test.each<[string, Changes, string]>([
    ["for an invalid name", forCluster("East"), 'is "East"; must be the name of a connected'],
    ["for an empty name", forCluster(""), 'is ""; must be the name of a connected'],
    [
      "for the scope of another cluster",
      { ...forCluster("east"), ...parentWith({ scope: clusters("west") }) },
      'for clusters "east" and "west" at once',
    ],
    [
      "before it is granted",
      { ...forCluster("East"), grant: ungranted },
      "must be the name of a connected",
    ],
  ])("is never that of every cluster %s: it is refused and stalled", (_rule, changes, message) => {
    const view = viewOf(changes);
    const plan = planOf(planEndpointToken(view, born));
    const done = after(view, plan);
    expect(summary(done.token.conditions)).toEqual(refusedFor("InvalidAudience"));
    expect(messageOf(done)).toContain(message);
    expect(done.token.token).toBeUndefined();
    expect(notesOf(plan)).toEqual(["Warning InvalidAudience generation 3"]);
    expect(planTokenReport(done, born + 1).steps).toEqual([]);
  });

  test("of a minted token stays, whatever its key covers later, until it is signed again", () => {
    const view = mintedView({
      ...parentWith({ scope: clusters("west") }),
      token: { ...forCluster("east").token },
    });
    expect(planOf(planEndpointToken(view, born)).steps).toEqual([]);
    const unsigned = { ...view, knownKids: new Set(["kid-2"]) };
    const plan = planOf(planEndpointToken(unsigned, born));
    expect(summary(after(unsigned, plan).token.conditions)).toEqual(refusedFor("InvalidAudience"));
  });
});

describe("the next step of a token", () => {
  const { token } = mintedView();
  const unheld = observedMetadata({ finalizers: [] });
  const shared = { granted: true, named: true, namedByOthers: true };

  test.each<[string, Changes, string, number?]>([
    ["adds the finalizer first", { token: { metadata: unheld } }, "hold"],
    ["restores the finalizer of a minted token", { token: { ...token, metadata: unheld } }, "hold"],
    ["waits for the grant", { grant: ungranted }, "wait"],
    ["waits while another requester is granted the token", { grant: shared }, "wait"],
    ["mints the token once it is granted", {}, "mint"],
    ["keeps a minted token", { token }, "wait"],
    [
      "mints a token again whose signing key is gone",
      { token, knownKids: new Set(["kid-2"]) },
      "mint",
    ],
    [
      "mints a token again whose status has no key id",
      { token: { ...token, keyId: undefined } },
      "mint",
    ],
    [
      "mints a token again that was removed from the status",
      { token: { ...token, token: undefined } },
      "mint",
    ],
    ["mints a token again whose status was cleared", {}, "mint", hour - 1],
    ["does not mint an expired token", {}, "status", hour],
    ["does not mint a token of an unknown requester", { requester: unknown }, "status"],
    ["keeps a minted token whose requester becomes unknown", { token, requester: unknown }, "wait"],
    [
      "does not mint a token that is being deleted",
      { token: { metadata: deletedMetadata } },
      "wait",
    ],
  ])("%s", (_rule, changes, step, age = 0) => {
    const decision = planEndpointToken(viewOf(changes), born + age);
    const [write] =
      decision.kind === "mint"
        ? []
        : decision.plan.steps.flat().filter(({ do: what }) => what !== "record-event");
    const done = write?.do === "patch" ? (write.subresource ?? "hold") : "wait";
    expect(decision.kind === "mint" ? "mint" : done).toBe(step);
  });

  test("requeues a token that cannot be minted at its expiry", () => {
    const missing = planEndpointToken({ ...mintedView(), knownKids: new Set() }, born);
    expect(missing).toMatchObject({
      kind: "mint",
      otherwise: { steps: [], result: { kind: "requeue-at", at: born + hour } },
    });
  });

  test("reports a missing grant after 10 s, and not before", () => {
    const waiting = viewOf({ grant: ungranted });
    expect(planEndpointToken(waiting, born + 9_999)).toEqual({
      kind: "plan",
      plan: { steps: [], result: { kind: "requeue-at", at: born + 10_000 } },
    });
    const late = planOf(planEndpointToken(waiting, born + 10_000));
    expect(summary(after(waiting, late).token.conditions)).toEqual(waitsFor("WaitingForGrant"));
    expect(notesOf(late)).toEqual([]);
  });
});

describe("the claims of a token", () => {
  const claimsOf = (changes: Changes, now: number) => {
    const decision = planEndpointToken(viewOf(changes), now);
    return decision.kind === "mint" ? decision.claims : undefined;
  };

  test("are those of the requester, without groups that are reserved for Kubernetes", () => {
    expect(claimsOf({}, born + 2_500)).toEqual({
      iss: "https://issuer",
      sub: "alice",
      aud: "aud",
      iat: born / 1000 + 2,
      nbf: born / 1000 + 2,
      exp: (born + hour) / 1000,
      jti: "uid-one",
      groups: ["devs"],
      "management.service": { name: "one" },
    });
  });

  test("contain the scope as the text of the spec", () => {
    const token = { spec: { scope: "{}", limit: parseScopeLimit({}) } };
    const { "management.service": service } = claimsOf({ token }, born) ?? {};
    expect(service).toEqual({ name: "one", scope: "{}" });
  });

  test("contain the uid of the access key that the token was requested with", () => {
    const terms = { issuer: "i", audience: "a", now: born, endsAt: born, keyScopes: [] };
    expect(
      tokenClaims(viewOf().token, { ...alice, keyId: "k" }, terms)["management.service"],
    ).toEqual({ name: "one", keyID: "k" });
  });

  const raw = (...names: readonly string[]) => ({
    projects: names.map((project) => ({ project })),
  });
  const projects = (...names: readonly string[]): ScopeLimit => parseScopeLimit(raw(...names));
  const scopedTo = (name: string): Changes => ({
    token: { spec: { scope: JSON.stringify(raw(name)), limit: projects(name) } },
  });
  const secretsIn = (...namespaces: readonly string[]) => ({
    rules: [{ namespaces, resources: [{ group: "", resources: ["secrets"] }] }],
  });
  const edge = parseScopeLimit(secretsIn("lk-edge"));
  const parent = (...names: readonly string[]) => parentWith({ scope: projects(...names) });
  const scopeIn = (changes: Changes): unknown => {
    const text = claimsOf(changes, born)?.["management.service"].scope;
    const read: unknown = text === undefined ? undefined : JSON.parse(text);
    return Array.isArray(read) ? read.map(parseScopeLimit) : parseScopeLimit(read);
  };

  test.each<[string, Changes, unknown]>([
    ["no scope if the parent key has none", parentWith(), "none"],
    ["the scope of the parent key if the token has none", parent("web"), projects("web")],
    [
      "the scope of the token if it is narrower",
      { ...scopedTo("web"), ...parent("web", "pay") },
      projects("web"),
    ],
    [
      "both scopes if neither is within the other",
      { ...scopedTo("ops"), ...parent("web") },
      [projects("ops"), projects("web")],
    ],
    [
      "both scopes if the token names a namespace, which may be guarded in another cluster",
      {
        token: { spec: { scope: JSON.stringify(secretsIn("lk-edge")), limit: edge } },
        ...parentWith({ scope: parseScopeLimit(secretsIn()) }),
      },
      [edge, parseScopeLimit(secretsIn())],
    ],
    [
      "the scopes of all ancestors",
      { parentKey: { ...parent("web").parentKey, ...parent("pay") } },
      [projects("web"), projects("pay")],
    ],
  ])("contain %s", (_rule, changes, scope) => {
    expect(scopeIn(changes)).toEqual(scope);
  });

  test.each<[string, Parameters<typeof resolvedKeyWith>[0], number]>([
    ["with a parent key that expires earlier", { ttl: 60 }, born + 60_000],
    ["after the ttl with a parent key that expires later", { ttl: 7200 }, born + hour],
    [
      "after the idle ttl of the parent key, counted from the request",
      { ttl: 60, ttlAfterLastActivity: true },
      born + 60_000,
    ],
  ])("expire %s", (_rule, terms, endsAt) => {
    expect(claimsOf(parentWith(terms), born)?.exp).toBe(endsAt / 1000);
  });

  test("expire after the clamped ttl from creation, regardless of the status and the time of minting", () => {
    const anyTtl = fc.option(fc.integer({ min: 0, max: 2 ** 31 - 1 }), { nil: undefined });
    const status = fc.record({
      token: fc.constantFrom(undefined, minted.token),
      keyId: fc.constantFrom(undefined, "kid-1", "kid-9"),
      expiresAt: fc.constantFrom(undefined, "2026-01-01T01:00:00Z", "2030-01-01T00:00:00Z"),
    });
    fc.assert(
      fc.property(
        anyTtl,
        fc.integer({ min: 1, max: 10 ** 6 }),
        status,
        fc.integer({ min: 0, max: 2 ** 31 }),
        (ttl, maximumTokenTtl, token, age) => {
          const spec = { limit: "none", ...(ttl === undefined ? {} : { ttl }) } as const;
          const decision = planEndpointToken(
            viewOf({ token: { ...token, spec }, config: { maximumTokenTtl } }),
            born + age,
          );
          const exp = born / 1000 + Math.min(ttl || 3600, maximumTokenTtl);
          const right =
            decision.kind === "plan" || (decision.claims.exp === exp && decision.claims.iat < exp);
          const due =
            age < exp * 1000 - born && (token.token === undefined || token.keyId !== "kid-1");
          expect({ right, minted: decision.kind === "mint" || !due }).toEqual({
            right: true,
            minted: true,
          });
        },
      ),
    );
  });
});

describe("the status of a token", () => {
  test("contains the token, its expiry and the id of its signing key", () => {
    const { status, conditions } = mintedView().token;
    expect(status).toMatchObject({
      token: minted.token,
      keyID: "kid-1",
      expiresAt: "2026-01-01T01:00:00Z",
      observedGeneration: 3,
    });
    expect(summary(conditions)).toEqual({ Ready: "True/Minted", Expired: "False/NotExpired" });
  });

  test.each<[string, Changes, string]>([
    ["contains the expiry", {}, "The token is valid until 2026-01-01T01:00:00Z."],
    [
      "says that the token expires with its parent key",
      parentWith({ ttl: 60 }),
      "The token is valid until 2026-01-01T00:01:00Z. It expires together with its parent access key.",
    ],
    [
      "says that the ttl was clamped",
      { token: { spec: { ttl: 90_000, limit: "none" } } },
      "The token is valid until 2026-01-02T00:00:00Z. spec.ttl of 25h exceeds the configured maximum of 24h, so the maximum applies.",
    ],
  ])("%s", (_rule, changes, message) => {
    expect(messageOf(mintedView(changes))).toBe(message);
  });

  test("is written once, and requeued at the expiry", () => {
    expect(planOf(planEndpointToken(mintedView(), born))).toEqual({
      steps: [],
      result: { kind: "requeue-at", at: born + hour },
    });
  });

  test("loses the token at the expiry, and keeps the expiry and the key id", () => {
    const view = mintedView();
    const plan = planOf(planEndpointToken(view, born + hour));
    expect(statusPatch(plan)).toMatchObject({ token: null });
    const { status, conditions } = after(view, plan).token;
    expect(status).toMatchObject({ keyID: "kid-1", expiresAt: "2026-01-01T01:00:00Z" });
    expect(summary(conditions)).toEqual(ended);
    expect(notesOf(plan)).toEqual(["Normal Expired 2026-01-01T01:00:00Z"]);
    expect(plan.result).toEqual({ kind: "requeue-at", at: born + hour + 60_000 });
  });

  const keyed = { ...alice, keyId: "k" };
  const reserved = { ...alice, name: "system:admin" };
  const unreadable: Changes = { token: { spec: { limit: "unreadable" } } };
  const theParent = "The parent access key";

  test.each<[string, Requester, string, string, Changes?]>([
    ["an unknown requester", unknown, "UnknownRequester", "nobody knows"],
    [
      "a disabled parent key",
      keyed,
      "ParentKeyInvalid",
      `${theParent} "one" is Disabled`,
      parentWith({ disabled: true }),
    ],
    [
      "a deleted parent key",
      keyed,
      "ParentKeyInvalid",
      `${theParent} was deleted. Create the token again`,
      { parentKey: "gone" },
    ],
    ["an invalid scope", alice, "InvalidScope", "spec.scope is invalid", unreadable],
    [
      "a requester that is reserved for Kubernetes",
      reserved,
      "UnsupportedRequester",
      `"system:admin"`,
    ],
  ])("reports %s once and contains no token", (_rule, requester, reason, message, changes) => {
    const view = { ...mintedView(changes), knownKids: new Set(["kid-2"]), requester };
    const plan = planOf(planEndpointToken(view, born));
    expect(statusPatch(plan)).toMatchObject({ token: null });
    expect(after(view, plan).token.keyId).toBe(view.token.keyId);
    expect(summary(after(view, plan).token.conditions)).toEqual(refusedFor(reason));
    expect(messageOf(after(view, plan))).toContain(message);
    expect(notesOf(plan)).toEqual([`Warning ${reason} generation 3 since 2026-01-01T00:00:00Z`]);
    expect(plan.result).toEqual({ kind: "requeue-at", at: born + hour });
  });

  test("stays Expired when the maximum increases or the clock goes back", () => {
    const view = mintedView({
      token: { spec: { ttl: 7200, limit: "none" } },
      config: { maximumTokenTtl: 3600 },
    });
    const over = after(view, planOf(planEndpointToken(view, born + hour)));
    const grown = { ...over, config: { ...over.config, maximumTokenTtl: 7200 } };
    expect(planOf(planEndpointToken(grown, born + hour)).steps).toEqual([]);
  });

  test("that says Expired without an expiry takes it from the spec", () => {
    const expired = {
      type: "Expired",
      status: "True",
      reason: "Expired",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    expect(planEndpointToken(viewOf({ token: { conditions: [expired] } }), born).kind).toBe("mint");
  });

  test("and Events never contain the token", () => {
    const plan = planMinted(viewOf(), minted, born);
    expect(JSON.stringify(plan)).not.toContain("the-token");
    expect(statusPatch(plan)["token"]).toBe(minted.token);
  });
});

describe("the object of an expired token", () => {
  const endOf = (changes: Changes) => {
    const view = viewOf(changes);
    return after(view, planOf(planEndpointToken(view, born + hour)));
  };

  test.each<[string, Changes]>([
    ["minted", { token: mintedView().token }],
    ["never minted", {}],
    ["of an unknown requester", { requester: unknown }],
  ])("is deleted after the retention, by uid and resourceVersion: %s", (_rule, changes) => {
    const view = endOf(changes);
    expect(planOf(planEndpointToken(view, born + hour + 59_999)).steps).toEqual([]);
    expect(planOf(planEndpointToken(view, born + hour + 60_000)).steps).toMatchObject([
      [{ do: "delete", uid: "uid-one", resourceVersion: "7" }],
    ]);
  });

  test("says that it is an export, and is kept for the retention after its creation", () => {
    const metadata = {
      ...observedMetadata(),
      annotations: { "management.service/created-at": "1970-01-01T00:00:00Z" },
    };
    const seen = viewOf({ token: { metadata } });
    const view = after(seen, planOf(planEndpointToken(seen, born)));
    expect(summary(view.token.conditions)).toMatchObject({ Ready: "False/Expired" });
    expect(messageOf(view)).toContain(
      "Create a token without metadata.annotations and metadata.finalizers of the export.",
    );
    expect(planOf(planEndpointToken(view, born + 59_999)).steps).toEqual([]);
    expect(planOf(planEndpointToken(view, born + 60_000)).steps).toMatchObject([
      [{ do: "delete", uid: "uid-one" }],
    ]);
  });

  test("is not deleted before its expiry is recorded", () => {
    expect(notesOf(planOf(planEndpointToken(mintedView(), born + 2 * hour)))).toEqual([
      "Normal Expired 2026-01-01T01:00:00Z",
    ]);
  });
});
