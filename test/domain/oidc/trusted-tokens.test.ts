import { describe, expect, test } from "vitest";
import { annotations, extras } from "../../../src/api/names.ts";
import {
  authenticate,
  tokenProblem,
  withToken,
} from "../../../src/domain/access-key/authenticate.ts";
import { keyState, type ResolvedKey } from "../../../src/domain/access-key/key-state.ts";
import type { IssuerEntry } from "../../../src/domain/oidc/issuer-entries.ts";
import { tokenRuleOf, trustedTokens, trustsSame } from "../../../src/domain/oidc/trusted-tokens.ts";
import { issuerEntry, issuerUrl, keyOfClaims } from "../../support/oidc-fixture.ts";
import { resolvedKeyWith } from "../../support/review-fixture.ts";

const github = "https://token.actions.githubusercontent.com";
const given = (issuer?: string, claims?: string) => ({
  annotations: {
    ...(issuer === undefined ? {} : { [annotations.issuer]: issuer }),
    ...(claims === undefined ? {} : { [annotations.claims]: claims }),
  },
});
const entry = issuerEntry([]);
const issuersWith = (changed: Partial<IssuerEntry> = {}) =>
  new Map([[issuerUrl, { ...entry, ...changed }]]);

describe("the rule of a key about tokens", () => {
  test.each<[what: string, annotated: ReturnType<typeof given>, rule: object | undefined]>([
    ["is none without annotations", given(), undefined],
    ["is none with empty ones", given("", ""), undefined],
    [
      "is issuer and claims",
      given(issuerUrl, "sub=main\nref=a/*\n"),
      {
        kind: "rule",
        issuer: issuerUrl,
        rules: [
          { name: "sub", value: "main", isPrefix: false },
          { name: "ref", value: "a/", isPrefix: true },
        ],
      },
    ],
    [
      "needs the issuer",
      given(undefined, "sub=main"),
      { kind: "invalid", annotation: annotations.issuer, problem: "is required beside the claims" },
    ],
    [
      "needs claims",
      given(issuerUrl, ""),
      { kind: "invalid", annotation: annotations.claims, problem: "is required beside the issuer" },
    ],
    [
      "has a URL that an issuer can have",
      given(`https://${"a".repeat(600)}`, "sub=main"),
      { kind: "invalid", annotation: annotations.issuer, problem: "has more than 512 characters" },
    ],
    [
      "has claims in their form",
      given(issuerUrl, "sub"),
      {
        kind: "invalid",
        annotation: annotations.claims,
        problem: "is refused: line 1 must be a name, an equals sign and a value",
      },
    ],
    [
      "names more than everybody has",
      given(github, "ref=refs/heads/main"),
      {
        kind: "invalid",
        annotation: annotations.claims,
        problem: expect.stringContaining("it must name repository_id or repository_owner_id"),
      },
    ],
  ])("%s", (_what, annotated, rule) => {
    expect(tokenRuleOf(annotated)).toEqual(rule);
  });

  test("is that of a known issuer, or of none", () => {
    const rule = given(issuerUrl, "sub=main");
    expect(trustedTokens(rule, issuersWith())).toMatchObject({ kind: "trusted", issuer: entry });
    expect(trustedTokens(rule, new Map())).toEqual({ kind: "unknown-issuer", url: issuerUrl });
    expect(trustedTokens(given(), issuersWith())).toBeUndefined();
  });
});

describe("the state of a key without spec.key", () => {
  const stateOf = (resolved: ResolvedKey) => keyState(resolved, 0);

  test.each<[what: string, resolved: ResolvedKey, state: object]>([
    [
      "is Active with tokens",
      keyOfClaims("a", "sub=main", issuersWith()),
      { ready: true, reason: "Active" },
    ],
    [
      "names the issuer that is not configured",
      keyOfClaims("a", "sub=main", new Map()),
      {
        reason: "UnknownIssuer",
        message:
          'No issuer of the ConfigMap latchkey-issuers has the URL "https://oidc.example". Correct ' +
          "metadata.annotations[management.service/issuer], or ask an administrator to add the issuer.",
      },
    ],
    [
      "names the annotation that is wrong",
      keyOfClaims("a", "aud=x", issuersWith()),
      {
        reason: "InvalidClaims",
        message: expect.stringMatching(
          /^metadata\.annotations\[management\.service\/claims\] is refused: it names only claims/,
        ),
      },
    ],
    [
      "is Disabled as that of any key",
      keyOfClaims("a", "sub=main", issuersWith(), { disabled: true }),
      { ready: true, reason: "Disabled" },
    ],
  ])("%s", (_what, resolved, state) => {
    expect(stateOf(resolved)).toMatchObject(state);
  });
});

describe("a request that was made with a token", () => {
  const resolved = keyOfClaims("a", "sub=main", issuersWith());
  const now = Date.parse("2026-01-01T00:00:00Z");
  const userOf = (key: ResolvedKey, endsAt = now + 1_000) => {
    const authentication = authenticate(key, now);
    if (authentication.kind === "refused") throw new Error(authentication.reason);
    return withToken(authentication.user, { id: "job", endsAt });
  };

  test("says which token, and when it ends", () => {
    expect(userOf(resolved).extra).toMatchObject({
      [extras.keyId]: ["uid-a"],
      [extras.credentialId]: ["job"],
      [extras.credentialEnds]: ["2026-01-01T00:00:01Z"],
    });
  });

  test.each<[what: string, present: ResolvedKey, extra: object, problem: string | undefined]>([
    ["counts while the token does", resolved, userOf(resolved).extra, undefined],
    [
      "ends with the token",
      resolved,
      userOf(resolved, now).extra,
      "the token of this request has expired",
    ],
    [
      "has a time as its end",
      resolved,
      { ...userOf(resolved).extra, [extras.credentialEnds]: ["soon"] },
      "the token of this request has expired",
    ],
    [
      "has one end",
      resolved,
      { ...userOf(resolved).extra, [extras.credentialEnds]: ["2030-01-01T00:00:00Z", "x"] },
      "the token of this request has expired",
    ],
    [
      "has an end at all",
      resolved,
      { [extras.keyId]: ["uid-a"] },
      "the access key of this request has no key",
    ],
    [
      "does not count with other claims",
      keyOfClaims("a", "sub=other", issuersWith()),
      userOf(resolved).extra,
      "the access key of this request accepts other tokens now",
    ],
    [
      "does not count with another audience of the issuer",
      keyOfClaims("a", "sub=main", issuersWith({ audiences: ["cd"] })),
      userOf(resolved).extra,
      "the access key of this request accepts other tokens now",
    ],
    [
      "does not count once the object has a key",
      resolvedKeyWith(),
      userOf(resolved).extra,
      "the access key of this request accepts other tokens now",
    ],
    [
      "counts with other keys of the issuer",
      keyOfClaims("a", "sub=main", issuersWith({ jwks: "other", ca: "other" })),
      userOf(resolved).extra,
      undefined,
    ],
    ["is none with a key", resolvedKeyWith(), { [extras.keyId]: ["uid-one"] }, undefined],
  ])("%s", (_what, present, extra, problem) => {
    expect(tokenProblem(present, { ...extra }, now)).toBe(problem);
  });

  test("is known by what decides which tokens are accepted", () => {
    const other = keyOfClaims("a", "sub=other", issuersWith());
    const same = keyOfClaims("a", "sub=main", issuersWith({ jwks: "other" }));
    expect(trustsSame(resolved.tokens, same.tokens)).toBe(true);
    expect(trustsSame(resolved.tokens, other.tokens)).toBe(false);
    expect(trustsSame(resolved.tokens, undefined)).toBe(false);
  });
});
