import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { mergeAuthenticationConfig } from "../../../src/domain/endpoint-token/authentication-merge.ts";
import { authenticationConfiguration } from "../../../src/domain/endpoint-token/authentication-configuration.ts";

const issuer = "https://latchkey.example.com";
const discoveryUrl = "https://oidc.example.com/.well-known/openid-configuration";

const ours = authenticationConfiguration({
  issuer,
  discoveryUrl,
  certificateAuthority: undefined,
  audiences: ["management.service/direct/east", "management.service/direct"],
  maximumTokenTtl: 3600,
  usernamePrefix: "",
  groupsPrefix: "",
  isAuthorized: false,
});

function merge(existing: unknown) {
  return mergeAuthenticationConfig(existing, ours);
}

function file(more: object = {}): object {
  return {
    apiVersion: "apiserver.config.k8s.io/v1beta1",
    kind: "AuthenticationConfiguration",
    ...more,
  };
}

function entry(url: string, more: object = {}): object {
  return { issuer: { url, audiences: ["x"], ...more }, claimMappings: { username: {} } };
}

const entryOfOurs = ours.jwt[0];

describe("the merged file", () => {
  test.each<[string, object, readonly unknown[]]>([
    ["has our issuer alone if the file has no jwt", {}, [entryOfOurs]],
    ["has our issuer alone if jwt is null", { jwt: null }, [entryOfOurs]],
    [
      "has our issuer after the others",
      { jwt: [entry("https://a"), entry("https://b")] },
      [entry("https://a"), entry("https://b"), entryOfOurs],
    ],
    [
      "has our issuer in place of its former entry",
      {
        jwt: [
          entry("https://a"),
          entry(issuer, { discoveryURL: discoveryUrl }),
          entry("https://b"),
        ],
      },
      [entry("https://a"), entryOfOurs, entry("https://b")],
    ],
    [
      "takes an issuer with a slash at the end for another one, as kube-apiserver does",
      { jwt: [entry(`${issuer}/`)] },
      [entry(`${issuer}/`), entryOfOurs],
    ],
  ])("%s", (_rule, more, jwt) => {
    expect(merge(file(more))).toEqual({
      kind: "merged",
      content: {
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "AuthenticationConfiguration",
        jwt,
      },
    });
  });

  test.each(["v1alpha1", "v1beta1", "v1"])("of a file of %s has version v1", (before) => {
    const existing = file({ apiVersion: `apiserver.config.k8s.io/${before}` });
    expect(merge(existing)).toMatchObject({
      content: { apiVersion: "apiserver.config.k8s.io/v1" },
    });
  });
});

describe("a file is refused", () => {
  test.each<[string, unknown, string]>([
    ["that is a text", "x", "is not an AuthenticationConfiguration"],
    ["that is a list", [], "is not an AuthenticationConfiguration"],
    ["of another kind", file({ kind: "Pod" }), 'has the kind "Pod", not AuthenticationConfig'],
    [
      "of a kind that is too long for a sentence",
      file({ kind: "a".repeat(1000) }),
      `has the kind "${"a".repeat(299)}..., not AuthenticationConfiguration`,
    ],
    ["without a kind", file({ kind: undefined }), "has the kind (none)"],
    [
      "of an unknown version",
      file({ apiVersion: "apiserver.config.k8s.io/v2" }),
      'has the apiVersion "apiserver.config.k8s.io/v2"; must be one of apiserver.config.k8s.io/v1alpha1,',
    ],
    ["whose jwt is no list", file({ jwt: {} }), "has a jwt that is not a list"],
    [
      "with an entry without an issuer",
      file({ jwt: [entry("https://a"), { issuer: "https://b" }] }),
      "has no issuer.url in jwt[1]",
    ],
    ["with an entry that is no object", file({ jwt: ["x"] }), "has no issuer.url in jwt[0]"],
    [
      "with two entries of our issuer",
      file({ jwt: [entry(issuer), entry("https://a"), entry(issuer)] }),
      `has the issuer "${issuer}" in jwt[0] and jwt[2]; remove one of them`,
    ],
    [
      "with our discovery URL at another issuer",
      file({ jwt: [entry("https://a", { discoveryURL: discoveryUrl })] }),
      `has the discoveryURL "${discoveryUrl}" in jwt[0] for another issuer`,
    ],
    [
      "with too many issuers",
      file({ jwt: Array.from({ length: 64 }, (_, index) => entry(`https://${index}`)) }),
      "has 64 issuers, and kube-apiserver accepts 64 with the issuer of direct tokens",
    ],
  ])("%s", (_rule, existing, problem) => {
    expect(merge(existing)).toEqual({
      kind: "refused",
      problem: expect.stringContaining(problem),
    });
  });

  test("only from 65 issuers on: our former entry counts once", () => {
    const others = Array.from({ length: 63 }, (_, index) => entry(`https://${index}`));
    expect(merge(file({ jwt: [...others, entry(issuer)] }))).toMatchObject({ kind: "merged" });
  });
});

test("a merge keeps everything else, and a second merge changes nothing", () => {
  const other = fc
    .record({ url: fc.webUrl({ validSchemes: ["https"] }), settings: fc.jsonValue() })
    .map(({ url, settings }) => ({ issuer: { url: `${url}#other` }, settings }));
  const files = fc.record({
    others: fc.array(other, { maxLength: 20 }),
    ownAt: fc.option(fc.nat({ max: 20 }), { nil: undefined }),
    rest: fc.dictionary(fc.string({ minLength: 5, maxLength: 9 }), fc.jsonValue()),
  });
  fc.assert(
    fc.property(files, ({ others, ownAt, rest }) => {
      const jwt = ownAt === undefined ? others : others.toSpliced(ownAt, 0, entryIn(issuer));
      const existing = { ...rest, ...file({ jwt }) };
      const once = merge(existing);
      const content = once.kind === "merged" ? once.content : {};
      const after = Array.isArray(content["jwt"]) ? content["jwt"] : [];
      expect(after.filter((found) => found !== entryOfOurs && !isOurs(found))).toEqual(others);
      expect(after.filter(isOurs)).toHaveLength(1);
      expect(content).toMatchObject(rest);
      expect(merge(content)).toEqual(once);
    }),
  );
});

function entryIn(url: string) {
  return { issuer: { url }, settings: null };
}

function isOurs(found: unknown): boolean {
  return JSON.stringify(found).startsWith(`{"issuer":{"url":${JSON.stringify(issuer)}`);
}
