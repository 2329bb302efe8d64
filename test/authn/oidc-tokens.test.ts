import { describe, expect, test } from "vitest";
import { extras } from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { identifyKey } from "../../src/authn/identify-key.ts";
import type { TokenRefusal } from "../../src/authn/oidc-tokens.ts";
import { issuerEntry, issuerUrl, oidcFixture } from "../support/oidc-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { fakeReviewDeps, resolvedKeyWith } from "../support/review-fixture.ts";
import { newIssuerKey, signedToken, type SignedClaims, timesAt } from "../support/token-issuer.ts";

type Fixture = ReturnType<typeof oidcFixture>;

const goodClaims = ({ clock }: Fixture): SignedClaims => ({
  iss: issuerUrl,
  aud: "ci/deploy",
  sub: "main",
  jti: "job-1",
  ...timesAt(clock.now()),
});

const tokenWith = async (fixture: Fixture, claims: SignedClaims = {}, header: object = {}) =>
  new SecretText(await signedToken(fixture.signing, { ...goodClaims(fixture), ...claims }, header));

async function judged(fixture: Fixture, token: SecretText): Promise<string | undefined> {
  const identity = await fixture.tokens.identify(token);
  return identity?.kind === "refused" ? identity.reason : identity?.kind;
}

describe("a token of an issuer", () => {
  test("stands for the key that its audience names", async () => {
    const fixture = oidcFixture();
    const token = await tokenWith(fixture);
    const { exp } = timesAt(fixture.clock.now());
    expect(await fixture.tokens.identify(token)).toMatchObject({
      kind: "authenticated",
      resolved: fixture.keys.get("deploy"),
      token: { endsAt: exp * 1000 },
      user: {
        username: "alice",
        extra: {
          [extras.keyId]: ["uid-deploy"],
          [extras.credentialId]: [expect.stringMatching(/^[0-9a-f]{32}$/)],
          [extras.credentialEnds]: [new Date(exp * 1000).toISOString().replace(".000", "")],
        },
      },
    });
  });

  test("has one id in the audit log, each with its own", async () => {
    const fixture = oidcFixture();
    const idOf = async (token: SecretText) => {
      const identity = await fixture.tokens.identify(token);
      return identity?.kind === "authenticated" ? identity.user.extra[extras.credentialId] : [];
    };
    const one = await tokenWith(fixture);
    const [two, without] = [
      await tokenWith(fixture, { jti: "job-2" }),
      await tokenWith(fixture, { jti: undefined }),
    ];
    const ids = [await idOf(one), await idOf(one), await idOf(two), await idOf(without)];
    expect(new Set(ids.map(String)).size).toBe(3);
    expect(String(ids)).not.toContain("job");
  });

  const seconds = (fixture: Fixture): number => timesAt(fixture.clock.now()).iat;
  const day = 24 * 3600;

  test.each<
    [
      what: string,
      claims: (fixture: Fixture) => SignedClaims,
      reason: TokenRefusal | "authenticated",
    ]
  >([
    ["for several parties", () => ({ aud: ["other", "ci/deploy"] }), "authenticated"],
    ["with the bare audience, too", () => ({ aud: ["ci", "ci/deploy"] }), "authenticated"],
    ["that begins in a minute", (fixture) => ({ nbf: seconds(fixture) + 60 }), "authenticated"],
    ["without a name", () => ({ aud: "ci" }), "audience"],
    ["for another party", () => ({ aud: "other/deploy" }), "audience"],
    ["for an audience that begins alike", () => ({ aud: "cicd/deploy" }), "audience"],
    ["with a name that no object can have", () => ({ aud: "ci/../deploy" }), "audience"],
    ["with two names", () => ({ aud: ["ci/deploy", "ci/other"] }), "several-names"],
    ["with a name that no key has", () => ({ aud: "ci/nobody" }), "key"],
    ["with other claims", () => ({ sub: "feature" }), "claim"],
    ["with a claim that is a number", () => ({ sub: 1 }), "claim"],
    ["without the claim", () => ({ sub: undefined }), "claim"],
    ["that has expired", (fixture) => ({ exp: seconds(fixture) }), "expired"],
    ["without end", () => ({ exp: undefined }), "no-times"],
    ["without start", () => ({ iat: undefined }), "no-times"],
    ["for more than a day", (fixture) => ({ exp: seconds(fixture) + day + 1 }), "too-long"],
    ["of tomorrow", (fixture) => ({ iat: seconds(fixture) + 61 }), "not-yet"],
  ])("%s", async (_what, claims, reason) => {
    const fixture = oidcFixture();
    expect(await judged(fixture, await tokenWith(fixture, claims(fixture)))).toBe(reason);
  });

  test.each<
    [what: string, token: (fixture: Fixture) => Promise<SecretText>, reason: string | undefined]
  >([
    [
      "that another key signed",
      async (fixture) =>
        new SecretText(await signedToken(newIssuerKey("one"), goodClaims(fixture))),
      "signature",
    ],
    ["with a kid that is not there", (fixture) => tokenWith(fixture, {}, { kid: "two" }), "kid"],
    [
      "with a kid of another object",
      (fixture) => tokenWith(fixture, {}, { kid: "__proto__" }),
      "kid",
    ],
    [
      "of another algorithm than its key",
      async (fixture) =>
        new SecretText(await signedToken(newIssuerKey("one", "RS256"), goodClaims(fixture))),
      "signature",
    ],
    [
      "of another issuer",
      (fixture) => tokenWith(fixture, { iss: "https://other.example" }),
      undefined,
    ],
    [
      "of the same issuer with a slash",
      (fixture) => tokenWith(fixture, { iss: `${issuerUrl}/` }),
      undefined,
    ],
    ["that is a key", async () => new SecretText("lk_0123456789abcdef"), undefined],
    [
      "with text behind it",
      async (fixture) => new SecretText(`${SecretText.reveal(await tokenWith(fixture))}.x`),
      undefined,
    ],
  ])("%s", async (_what, token, reason) => {
    const fixture = oidcFixture();
    expect(await judged(fixture, await token(fixture))).toBe(reason);
  });

  test.each(["RS256", "RS512", "PS384", "ES384", "ES512"])("is verified with %s", async (alg) => {
    const fixture = oidcFixture();
    const signing = newIssuerKey("other", alg);
    const entry = issuerEntry([signing]);
    fixture.issuers.set(issuerUrl, entry);
    fixture.use(fixture.issuers);
    fixture.add("deploy", "sub=main");
    const token = new SecretText(await signedToken(signing, goodClaims(fixture)));
    expect(await judged(fixture, token)).toBe("authenticated");
  });

  test("needs what its issuer asks of all", async () => {
    const fixture = oidcFixture({ required: [{ claim: "org", value: "ours" }] });
    expect(await judged(fixture, await tokenWith(fixture))).toBe("issuer-claim");
    expect(await judged(fixture, await tokenWith(fixture, { org: "ours" }))).toBe("authenticated");
    expect(await judged(fixture, await tokenWith(fixture, { org: true }))).toBe("issuer-claim");
  });
});

describe("a token that was accepted", () => {
  async function accepted() {
    const fixture = oidcFixture();
    const token = await tokenWith(fixture);
    const identity = await fixture.tokens.identify(token);
    if (identity?.kind !== "authenticated") throw new Error("the token is not accepted");
    return { ...fixture, fixture, token, isVerified: identity.token.isVerified };
  }

  test("is accepted until it ends", async () => {
    const { fixture, token, clock } = await accepted();
    await clock.run(599_000);
    expect(await judged(fixture, token)).toBe("authenticated");
    await clock.run(1_000);
    expect(await judged(fixture, token)).toBe("expired");
  });

  test.each<
    [
      what: string,
      change: (fixture: Fixture) => void,
      reason: string | undefined,
      isSameIssuer?: boolean,
    ]
  >([
    ["its key is gone", ({ keys }) => void keys.delete("deploy"), "key", true],
    [
      "its key is disabled",
      ({ add }) => add("deploy", "sub=main", { disabled: true }),
      "key",
      true,
    ],
    ["its key trusts other claims", ({ add }) => add("deploy", "sub=other"), "claim", true],
    ["its issuer is gone", ({ use }) => use(new Map()), undefined],
    [
      "the key of its issuer is gone",
      ({ use, issuers, add }) => {
        issuers.set(issuerUrl, issuerEntry([newIssuerKey("two")]));
        use(issuers);
        add("deploy", "sub=main");
      },
      "kid",
    ],
    [
      "another key has the kid",
      ({ use, issuers, add }) => {
        issuers.set(issuerUrl, issuerEntry([newIssuerKey("one")]));
        use(issuers);
        add("deploy", "sub=main");
      },
      "signature",
    ],
    [
      "its issuer has another audience, and its key does not know yet",
      ({ use, issuers, signing }) => {
        issuers.set(issuerUrl, issuerEntry([signing], { audiences: ["ci", "cd"] }));
        use(issuers);
      },
      "key",
    ],
  ])("is refused once %s", async (_what, change, reason, isSameIssuer = false) => {
    const { fixture, token, isVerified } = await accepted();
    expect(isVerified()).toBe(true);
    change(fixture);
    expect(await judged(fixture, token)).toBe(reason);
    expect(isVerified()).toBe(isSameIssuer);
  });
});

describe("who presents a token", () => {
  const depsOf = (fixture: Fixture, seen: Parameters<typeof fakeReviewDeps>[0] = {}) => ({
    ...fakeReviewDeps(seen),
    tokens: fixture.tokens,
    clock: fixture.clock,
  });

  test("is identified at once, and the key is used", async () => {
    const fixture = oidcFixture();
    const deps = depsOf(fixture, { found: "malformed" });
    const identification = await identifyKey({ token: await tokenWith(fixture) }, deps);
    expect([identification.kind, deps.used, deps.results]).toEqual([
      "authenticated",
      ["uid-deploy"],
      ["authenticated"],
    ]);
  });

  test("waits 100 ms for the 401, once, whatever is wrong", async () => {
    const fixture = oidcFixture();
    for (const claims of [{ sub: "other" }, { aud: "ci/nobody" }, { exp: 1, iat: 0 }]) {
      const deps = depsOf(fixture, { found: "malformed" });
      let kind = "";
      const token = await tokenWith(fixture, claims);
      const answered = identifyKey({ token }, deps).then((answer) => (kind = answer.kind));
      await eventually(() => fixture.clock.pending === 1, { what: "the wait", every: 1 });
      await fixture.clock.run(99);
      expect(kind).toBe("");
      await fixture.clock.run(1);
      await answered;
      expect([kind, deps.results]).toEqual(["refused-token", ["refused-token"]]);
    }
    expect(fixture.refusals).toEqual(["claim", "key", "expired"]);
  });

  test("is identified if the key arrives meanwhile", async () => {
    const fixture = oidcFixture();
    const deps = depsOf(fixture, { found: "malformed" });
    const token = await tokenWith(fixture, { aud: "ci/new" });
    const answer = identifyKey({ token }, deps);
    await eventually(() => fixture.clock.pending === 1, { what: "the wait", every: 1 });
    await fixture.clock.run(50);
    fixture.add("new", "sub=main");
    await fixture.clock.run(50);
    expect(await answer).toMatchObject({ kind: "authenticated" });
    expect(fixture.refusals).toEqual([]);
  });

  test("has the key, if the text is the one of an object", async () => {
    const fixture = oidcFixture();
    const { keys } = fixture;
    const { tokens: _, ...view } = keys.get("deploy") ?? resolvedKeyWith();
    const deps = depsOf(fixture, {
      found: { ...view, key: { ...view.key, keyDigest: "d" } },
    });
    const token = await tokenWith(fixture, { aud: "ci/nobody" });
    expect(await identifyKey({ token }, deps)).not.toHaveProperty("token");
  });

  test("gets an error to retry while it is not known which issuers are configured", async () => {
    const fixture = oidcFixture();
    const deps = depsOf(fixture, { found: "malformed" });
    const token = await tokenWith(fixture);
    const first = await fixture.tokens.identify(token);
    fixture.state.isFresh = false;
    expect(await identifyKey({ token }, deps)).toEqual({
      kind: "not-ready",
      why: "issuers not synced; retry",
    });
    expect(first?.kind === "authenticated" && first.token.isVerified()).toBe(false);
  });

  test("is judged by the key as it is once its signature is verified", async () => {
    const fixture = oidcFixture();
    const answer = fixture.tokens.identify(await tokenWith(fixture));
    fixture.add("deploy", "sub=other");
    expect(await answer).toEqual({ kind: "refused", reason: "claim" });
  });

  test("gets an error to retry while the keys of the issuer were never read", async () => {
    const fixture = oidcFixture({ jwks: undefined });
    const deps = depsOf(fixture, { found: "malformed" });
    const token = await tokenWith(fixture);
    expect(await identifyKey({ token }, deps)).toEqual({
      kind: "not-ready",
      why: "keys of the issuer not read; retry",
    });
  });
});
