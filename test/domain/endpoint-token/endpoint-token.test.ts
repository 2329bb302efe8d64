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

/** The view after the plan's status write was carried out. */
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

/** The view with the token that this pass minted. */
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

describe("what is told while a token cannot be applied", () => {
  const failure = {
    kind: "failed",
    reason: "InternalError",
    message: "POST /x: 500",
    since: born,
  } as const;
  const waiting = { granted: false, named: false, namedByOthers: false };
  const lacking = {
    Expired: "False/NotExpired",
    Ready: "False/ApplyFailed",
    Reconciling: "True/ApplyFailed",
  };

  test.each<[string, ObservedEndpointToken, number, Record<string, string>]>([
    ["why it waits for its grant", viewOf({ failure, grant: waiting }), born, lacking],
    ["why it is not minted", viewOf({ failure }), born, lacking],
    ["that a token that is there is not all there is", { ...mintedView(), failure }, born, lacking],
    [
      "its end, as before",
      { ...mintedView(), failure },
      born + hour,
      { Expired: "True/Expired", Ready: "False/Expired", Stalled: "True/Expired" },
    ],
    [
      "why it is refused, as before",
      viewOf({ failure, requester: unknown }),
      born,
      {
        Expired: "False/NotExpired",
        Ready: "False/UnknownRequester",
        Stalled: "True/UnknownRequester",
      },
    ],
  ])("%s", (_rule, view, now, expected) => {
    const told = after(view, planTokenReport(view, now));
    expect(summary(told.token.conditions)).toEqual(expected);
    expect(messageOf(told)).toContain("POST /x: 500");
    expect(planTokenReport(told, now + 1).steps).toEqual([]);
  });

  test("keeps a token that is there and erases it at its end", () => {
    const view = { ...mintedView(), failure };
    expect(after(view, planTokenReport(view, born)).token).toMatchObject({
      token: minted.token,
      keyId: "kid-1",
    });
    expect(after(view, planTokenReport(view, born + hour)).token.token).toBeUndefined();
  });

  test("is said by the pass that waits for the grant, too", () => {
    const view = viewOf({ failure, grant: waiting });
    const { conditions } = after(view, planOf(planEndpointToken(view, born + 10_000))).token;
    expect(summary(conditions)).toEqual(lacking);
  });
});

describe("a token of a requester with too many", () => {
  const reached = { requester: "alice", quota: 3, nextEnd: born + 60_000 };

  test("says so, is no failure for ever, and is looked at again when the next one ends", () => {
    const plan = planTooMany(viewOf(), reached, born);
    const { token } = after(viewOf(), plan);
    expect(summary(token.conditions)).toEqual({
      Ready: "False/TooManyTokens",
      Reconciling: "True/TooManyTokens",
      Expired: "False/NotExpired",
    });
    expect([plan.result, token.token]).toEqual([
      { kind: "requeue-at", at: born + 60_000 },
      undefined,
    ]);
    expect(messageOf(after(viewOf(), plan))).toBe(
      'Requester "alice" has 3 valid tokens, which is the limit; deleted tokens count until they expire. Latchkey mints the token when one of them expires.',
    );
  });

  test.each([
    ["not at once, of which many may wait for one end", born + 1, born + 10_000],
    ["at its own end at the latest", born + 2 * hour, born + hour],
  ])("is looked at again %s", (_rule, nextEnd, at) => {
    expect(planTooMany(viewOf(), { ...reached, nextEnd }, born).result).toEqual({
      kind: "requeue-at",
      at,
    });
  });

  test("says nothing twice", () => {
    const view = after(viewOf(), planTooMany(viewOf(), reached, born));
    expect(planTooMany(view, { ...reached, nextEnd: born + 90_000 }, born + 60_000).steps).toEqual(
      [],
    );
  });
});

describe("the order of a token's steps", () => {
  test.each<[string, Changes, number, string]>([
    [
      "the finalizer comes first",
      { token: { metadata: observedMetadata({ finalizers: [] }) } },
      born,
      "hold",
    ],
    [
      "the finalizer comes back under a token that stands",
      { token: { ...mintedView().token, metadata: observedMetadata({ finalizers: [] }) } },
      born,
      "hold",
    ],
    [
      "the grant comes before the token",
      { grant: { granted: false, named: false, namedByOthers: false } },
      born,
      "wait",
    ],
    [
      "another requester's grant is waited out",
      { grant: { granted: true, named: true, namedByOthers: true } },
      born,
      "wait",
    ],
    ["the token comes then", {}, born, "mint"],
    ["a token that stands is kept", { token: mintedView().token }, born, "wait"],
    [
      "a token whose key is gone is minted again",
      { token: mintedView().token, knownKids: new Set(["kid-2"]) },
      born,
      "mint",
    ],
    [
      "a token without the name of its key is minted again",
      { token: { ...mintedView().token, keyId: undefined } },
      born,
      "mint",
    ],
    [
      "a token that was erased by hand is minted again",
      { token: { ...mintedView().token, token: undefined } },
      born,
      "mint",
    ],
    ["a wiped status is minted again", {}, born + hour - 1, "mint"],
    ["what is past its end is never minted", {}, born + hour, "status"],
    ["a token for nobody certain is never minted", { requester: unknown }, born, "status"],
    [
      "a token that stands outlives the certainty about its requester",
      { token: mintedView().token, requester: unknown },
      born,
      "wait",
    ],
    [
      "what is being deleted is never minted",
      { token: { metadata: deletedMetadata } },
      born,
      "wait",
    ],
  ])("%s", (_rule, changes, now, step) => {
    const decision = planEndpointToken(viewOf(changes), now);
    const [write] =
      decision.kind === "mint"
        ? []
        : decision.plan.steps.flat().filter(({ do: what }) => what !== "record-event");
    const done = write?.do === "patch" ? (write.subresource ?? "hold") : "wait";
    expect(decision.kind === "mint" ? "mint" : done).toBe(step);
  });

  test("a token that cannot be minted is looked at again at its end, so that it does not outlive it", () => {
    const missing = planEndpointToken({ ...mintedView(), knownKids: new Set() }, born);
    expect(missing).toMatchObject({
      kind: "mint",
      otherwise: { steps: [], result: { kind: "requeue-at", at: born + hour } },
    });
  });

  test("a grant that does not come shows in the status after 10 s, and not before", () => {
    const waiting = viewOf({ grant: { granted: false, named: false, namedByOthers: false } });
    expect(planEndpointToken(waiting, born + 9_999)).toEqual({
      kind: "plan",
      plan: { steps: [], result: { kind: "requeue-at", at: born + 10_000 } },
    });
    const late = planOf(planEndpointToken(waiting, born + 10_000));
    expect(summary(after(waiting, late).token.conditions)).toEqual({
      Ready: "False/WaitingForGrant",
      Reconciling: "True/WaitingForGrant",
      Expired: "False/NotExpired",
    });
    expect(notesOf(late)).toEqual([]);
  });
});

describe("the claims of a token", () => {
  const claimsOf = (changes: Changes, now: number) => {
    const decision = planEndpointToken(viewOf(changes), now);
    return decision.kind === "mint" ? decision.claims : undefined;
  };

  test("are the requester's, with no group of Kubernetes itself", () => {
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

  test("carry the scope as the text that the spec has", () => {
    expect(
      claimsOf({ token: { spec: { scope: "{}", limit: parseScopeLimit({}) } } }, born)?.[
        "management.service"
      ],
    ).toEqual({ name: "one", scope: "{}" });
  });

  test("carry the id of the key that was used", () => {
    const terms = { issuer: "i", audience: "a", now: born, endsAt: born, keyScopes: [] };
    expect(
      tokenClaims(viewOf().token, { ...alice, keyId: "k" }, terms)["management.service"],
    ).toEqual({ name: "one", keyID: "k" });
  });

  const projects = (...names: readonly string[]): ScopeLimit =>
    parseScopeLimit({ projects: names.map((project) => ({ project })) });
  const spec = (scope: object): EndpointToken["spec"] => ({
    scope: JSON.stringify(scope),
    limit: parseScopeLimit(scope),
  });
  const scopeIn = (changes: Changes): unknown => {
    const text = claimsOf(changes, born)?.["management.service"].scope;
    const read: unknown = text === undefined ? undefined : JSON.parse(text);
    return Array.isArray(read) ? read.map(parseScopeLimit) : parseScopeLimit(read);
  };

  test.each<[string, Changes, unknown]>([
    ["no scope where the key has none", { parentKey: resolvedKeyWith() }, "none"],
    [
      "the scope of the key where the token asks for none",
      { parentKey: resolvedKeyWith({ scope: projects("web") }) },
      projects("web"),
    ],
    [
      "the token's own scope where it is narrower",
      {
        token: { spec: spec({ projects: [{ project: "web" }] }) },
        parentKey: resolvedKeyWith({ scope: projects("web", "pay") }),
      },
      projects("web"),
    ],
    [
      "both scopes where neither is within the other",
      {
        token: { spec: spec({ projects: [{ project: "ops" }] }) },
        parentKey: resolvedKeyWith({ scope: projects("web") }),
      },
      [projects("ops"), projects("web")],
    ],
    [
      "the scopes of all keys behind it",
      {
        parentKey: {
          ...resolvedKeyWith({ scope: projects("web") }),
          parentKey: resolvedKeyWith({ scope: projects("pay") }),
        },
      },
      [projects("web"), projects("pay")],
    ],
  ])("carry %s that it was asked for with", (_rule, changes, scope) => {
    expect(scopeIn(changes)).toEqual(scope);
  });

  test.each<[string, Parameters<typeof resolvedKeyWith>[0], number]>([
    ["with a key that ends before", { ttl: 60 }, born + 60_000],
    ["with a key that ends later", { ttl: 7200 }, born + hour],
    [
      "with a key that ends when it is idle: asking was a use",
      { ttl: 60, ttlAfterLastActivity: true },
      born + 60_000,
    ],
  ])("end %s", (_rule, terms, endsAt) => {
    expect(claimsOf({ parentKey: resolvedKeyWith(terms) }, born)?.exp).toBe(endsAt / 1000);
  });

  test("end at creation plus the clamped ttl, whatever stands and whenever they are made", () => {
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
  test("holds the token, its end and its key", () => {
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
    ["tells the end", {}, "The token is valid until 2026-01-01T01:00:00Z."],
    [
      "tells that the key's end is the token's",
      { parentKey: resolvedKeyWith({ ttl: 60 }) },
      "The token is valid until 2026-01-01T00:01:00Z. It expires together with its parent access key.",
    ],
    [
      "tells that the ttl was clamped",
      { token: { spec: { ttl: 90_000, limit: "none" } } },
      "The token is valid until 2026-01-02T00:00:00Z. spec.ttl of 90000 seconds exceeds the configured maximum of 86400 seconds, so the maximum applies.",
    ],
  ])("%s", (_rule, changes, message) => {
    expect(messageOf(mintedView(changes))).toBe(message);
  });

  test("is written once, and looked at again at the end", () => {
    expect(planOf(planEndpointToken(mintedView(), born))).toEqual({
      steps: [],
      result: { kind: "requeue-at", at: born + hour },
    });
  });

  test("loses the token at the end and keeps what tells of it", () => {
    const view = mintedView();
    const plan = planOf(planEndpointToken(view, born + hour));
    expect(statusPatch(plan)).toMatchObject({ token: null });
    const { status, conditions } = after(view, plan).token;
    expect(status).toMatchObject({ keyID: "kid-1", expiresAt: "2026-01-01T01:00:00Z" });
    expect(summary(conditions)).toEqual({
      Ready: "False/Expired",
      Expired: "True/Expired",
      Stalled: "True/Expired",
    });
    expect(notesOf(plan)).toEqual(["Normal Expired 2026-01-01T01:00:00Z"]);
    expect(plan.result).toEqual({ kind: "requeue-at", at: born + hour + 60_000 });
  });

  test.each<[string, Requester, string, string, Changes?]>([
    ["nobody certain", unknown, "UnknownRequester", "nobody knows"],
    [
      "whoever came with a key that is disabled by now",
      { ...alice, keyId: "k" },
      "ParentKeyInvalid",
      'The parent access key "one" is Disabled',
      { parentKey: resolvedKeyWith({ disabled: true }) },
    ],
    [
      "whoever came with a key that is gone",
      { ...alice, keyId: "k" },
      "ParentKeyInvalid",
      "The parent access key was deleted. Create the token again",
      { parentKey: "gone" },
    ],
    [
      "whoever names a scope that cannot be read",
      alice,
      "InvalidScope",
      "spec.scope is invalid",
      { token: { spec: { limit: "unreadable" } } },
    ],
    [
      "Kubernetes itself",
      { ...alice, name: "system:admin" },
      "UnsupportedRequester",
      `"system:admin"`,
    ],
  ])("of %s says so, is told and holds no token", (_rule, requester, reason, message, changes) => {
    const view = { ...mintedView(changes), knownKids: new Set(["kid-2"]), requester };
    const plan = planOf(planEndpointToken(view, born));
    expect(statusPatch(plan)).toMatchObject({ token: null, keyID: null });
    expect(summary(after(view, plan).token.conditions)).toEqual({
      Ready: `False/${reason}`,
      Expired: "False/NotExpired",
      Stalled: `True/${reason}`,
    });
    expect(messageOf(after(view, plan))).toContain(message);
    expect(notesOf(plan)).toEqual([`Warning ${reason} generation 3 since 2026-01-01T00:00:00Z`]);
    expect(plan.result).toEqual({ kind: "requeue-at", at: born + hour });
  });

  test("stays Expired when the maximum grows or the clock goes back", () => {
    const view = mintedView({
      token: { spec: { ttl: 7200, limit: "none" } },
      config: { maximumTokenTtl: 3600 },
    });
    const over = after(view, planOf(planEndpointToken(view, born + hour)));
    const grown = { ...over, config: { ...over.config, maximumTokenTtl: 7200 } };
    expect(planOf(planEndpointToken(grown, born + hour)).steps).toEqual([]);
  });

  test("that says Expired without an end ends as its spec says", () => {
    const expired = {
      type: "Expired",
      status: "True",
      reason: "Expired",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    expect(planEndpointToken(viewOf({ token: { conditions: [expired] } }), born).kind).toBe("mint");
  });

  test("and Events never show the token", () => {
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
    ["of nobody certain", { requester: unknown }],
  ])("%s is deleted after the retention, if it is still the same", (_rule, changes) => {
    const view = endOf(changes);
    expect(planOf(planEndpointToken(view, born + hour + 59_999)).steps).toEqual([]);
    expect(planOf(planEndpointToken(view, born + hour + 60_000)).steps).toMatchObject([
      [{ do: "delete", uid: "uid-one", resourceVersion: "7" }],
    ]);
  });

  test("is not deleted before its end was told", () => {
    expect(notesOf(planOf(planEndpointToken(mintedView(), born + 2 * hour)))).toEqual([
      "Normal Expired 2026-01-01T01:00:00Z",
    ]);
  });
});
