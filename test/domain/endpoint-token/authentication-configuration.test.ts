import { describe, expect, test } from "vitest";
import {
  authenticationConfiguration,
  authenticationNotes,
  type AuthenticationOptions,
} from "../../../src/domain/endpoint-token/authentication-configuration.ts";

const terms: AuthenticationOptions = {
  issuer: "https://latchkey.example.com",
  discoveryUrl: undefined,
  certificateAuthority: undefined,
  audiences: ["management.service/direct/east", "management.service/direct"],
  maximumTokenTtl: 86_400,
  usernamePrefix: "",
  groupsPrefix: "",
  isAuthorized: false,
};

function jwtOf(more: Partial<AuthenticationOptions> = {}) {
  return authenticationConfiguration({ ...terms, ...more }).jwt[0];
}

test("the file has v1, which every supported version of Kubernetes reads", () => {
  expect(authenticationConfiguration(terms)).toMatchObject({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthenticationConfiguration",
    jwt: [{}],
  });
});

describe("the issuer", () => {
  test("has its URL and the audiences alone, of which a token has one", () => {
    const { issuer: url, audiences } = terms;
    expect(jwtOf()?.["issuer"]).toEqual({ url, audiences, audienceMatchPolicy: "MatchAny" });
  });

  test("has no policy for a single audience", () => {
    const audiences = terms.audiences.slice(0, 1);
    expect(jwtOf({ audiences })?.["issuer"]).toEqual({ url: terms.issuer, audiences });
  });

  test("has a discovery URL and a CA if they are set", () => {
    const discoveryUrl = "https://oidc.example.com/.well-known/openid-configuration";
    expect(jwtOf({ discoveryUrl, certificateAuthority: "PEM" })).toMatchObject({
      issuer: { discoveryURL: discoveryUrl, certificateAuthority: "PEM" },
    });
  });
});

describe("the claim mappings", () => {
  test("have prefixes, also if they are empty", () => {
    expect(jwtOf()).toMatchObject({
      claimMappings: {
        username: { claim: "sub", prefix: "" },
        groups: { claim: "groups", prefix: "" },
      },
    });
    expect(jwtOf({ usernamePrefix: "mc:", groupsPrefix: "team:" })).toMatchObject({
      claimMappings: { username: { prefix: "mc:" }, groups: { prefix: "team:" } },
    });
  });

  test.each([
    [
      "management.service/key-id",
      'has(claims["management.service"].keyID) ? claims["management.service"].keyID : ""',
    ],
    [
      "management.service/scope",
      'has(claims["management.service"].scope) ? claims["management.service"].scope : ""',
    ],
    ["management.service/token-id", "claims.jti"],
    ["management.service/token-name", 'claims["management.service"].name'],
  ])("have the extra %s", (key, valueExpression) => {
    expect(jwtOf()).toMatchObject({
      claimMappings: { extra: expect.arrayContaining([{ key, valueExpression }]) },
    });
  });

  test("have no uid: the token has none of its user", () => {
    expect(jwtOf()?.["claimMappings"]).not.toHaveProperty("uid");
  });
});

describe("a rule refuses", () => {
  test.each([
    ["a subject of Kubernetes", '!claims.sub.startsWith("system:")', "sub begins with system:"],
    [
      "a group of Kubernetes",
      'dyn(claims.groups).all(group, !group.startsWith("system:"))',
      "a group begins with system:",
    ],
    [
      "a lifetime above the maximum and five minutes for clocks",
      "claims.exp - claims.nbf <= 86700",
      "the lifetime exceeds 86400 seconds",
    ],
    ["several audiences", "type(claims.aud) == string", "aud is a list"],
    [
      "a scope, which nothing enforces",
      '!has(claims["management.service"].scope)',
      "create a token without a scope",
    ],
  ])("%s", (_rule, expression, message) => {
    expect(jwtOf()).toMatchObject({
      claimValidationRules: expect.arrayContaining([
        { expression, message: expect.stringContaining(message) },
      ]),
    });
  });

  test.each([
    ['!user.username.startsWith("system:")', "the username with its prefix"],
    ['user.groups.all(group, !group.startsWith("system:"))', "a group with its prefix"],
  ])("what a prefix completes: %s", (expression, message) => {
    expect(jwtOf()).toMatchObject({
      userValidationRules: expect.arrayContaining([
        { expression, message: expect.stringContaining(message) },
      ]),
    });
  });

  test("no scope where an authorizer enforces it, and whatever would hide a limit from it", () => {
    const rules = jwtOf({ isAuthorized: true })?.["claimValidationRules"];
    expect(JSON.stringify(rules)).not.toContain("create a token without a scope");
    for (const message of ["jti is not a text", "the scope is not a text", "unknown member"])
      expect(rules).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ message: expect.stringContaining(message) }),
        ]),
      );
  });

  test("a lifetime above another maximum", () => {
    expect(jwtOf({ maximumTokenTtl: 600 })).toMatchObject({
      claimValidationRules: expect.arrayContaining([
        expect.objectContaining({ expression: "claims.exp - claims.nbf <= 900" }),
      ]),
    });
  });
});

describe("the notes", () => {
  const notes = (authorizationFlag?: string) =>
    authenticationNotes({ directory: "/etc/trust" }, authorizationFlag);

  test("with an authorizer have both flags, and say what it decides and what it cannot end", () => {
    const lines = notes("--authorization-config=/etc/trust/authorization.yaml");
    expect(lines.filter((note) => note.startsWith("--"))).toEqual([
      "--authentication-config=/etc/trust/authentication.yaml",
      "--authorization-config=/etc/trust/authorization.yaml",
    ]);
    const text = lines.join("\n");
    for (const words of ["--authorization-mode away", "of a revoked token", "While it is away"])
      expect(text).toContain(words);
    expect(text).toContain("open when its token is revoked continues until it ends");
    expect(text).not.toContain("A token with a scope is refused");
  });

  test("have one flag, at the beginning of a line", () => {
    expect(notes().filter((note) => note.startsWith("--"))).toEqual([
      "--authentication-config=/etc/trust/authentication.yaml",
    ]);
  });

  test.each([
    "every --oidc-* flag",
    "A token with a scope is refused",
    "A token stays valid until its exp",
    "latchkey webhook --direct in this cluster and add --authorization",
    "reach the issuer once after each restart",
  ])("say: %s", (words) => {
    expect(notes().join("\n")).toContain(words);
  });
});
