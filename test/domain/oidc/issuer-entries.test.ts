import { describe, expect, test } from "vitest";
import { missingClaim, parseIssuerEntries } from "../../../src/domain/oidc/issuer-entries.ts";

const top = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration" };
const issuer = { url: "https://oidc.example", audiences: ["ci"] };
const taken = { audiences: ["https://kubernetes.default.svc"], issuer: "https://latchkey.example" };
const parse = (...jwt: readonly unknown[]) => parseIssuerEntries({ ...top, jwt }, taken);
const entry = (more: object, others: object = {}) => ({
  issuer: { ...issuer, ...more },
  ...others,
});
const pem = `-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n`;

describe("issuers", () => {
  test("are entries of kube-apiserver's file, and their key set", () => {
    const rule = { claim: "repository_owner_id", requiredValue: "1" };
    const jwks = '{"keys":[]}';
    expect(
      parse(
        entry({ certificateAuthority: pem, audienceMatchPolicy: "MatchAny" }),
        entry({ url: "https://other.example", jwks }, { claimValidationRules: [rule] }),
      ),
    ).toEqual({
      kind: "issuers",
      ignored: [],
      issuers: [
        { ...issuer, discoveryUrl: undefined, ca: pem, jwks: undefined, required: [] },
        {
          url: "https://other.example",
          audiences: ["ci"],
          discoveryUrl: undefined,
          ca: undefined,
          jwks,
          required: [{ claim: "repository_owner_id", value: "1" }],
        },
      ],
    });
    expect(parse()).toEqual({ kind: "issuers", issuers: [], ignored: [] });
    const discoveryURL = "https://d.example/found";
    expect(parse(entry({ discoveryURL }))).toMatchObject({
      issuers: [{ discoveryUrl: discoveryURL }],
    });
  });

  test("have claim mappings that are left alone, and said", () => {
    const found = parse(entry({}, { claimMappings: { username: { claim: "sub" } } }));
    expect(found).toMatchObject({ kind: "issuers", ignored: ["jwt[0].claimMappings"] });
  });

  test.each<[what: string, raw: unknown, field: string]>([
    ["no object", [], ""],
    ["another kind", { ...top, kind: "List" }, "kind"],
    ["another version", { ...top, apiVersion: "v1" }, "apiVersion"],
    ["anonymous", { ...top, anonymous: { enabled: true } }, "anonymous"],
    ["no list", { ...top, jwt: {} }, "jwt"],
    ["65 issuers", { ...top, jwt: Array.from({ length: 65 }, () => entry({})) }, "jwt"],
    ["a text", { ...top, jwt: ["x"] }, "jwt[0]"],
    [
      "user rules",
      { ...top, jwt: [entry({}, { userValidationRules: [] })] },
      "jwt[0].userValidationRules",
    ],
    [
      "egress",
      { ...top, jwt: [entry({ egressSelectorType: "cluster" })] },
      "jwt[0].issuer.egressSelectorType",
    ],
    ["no URL", { ...top, jwt: [entry({ url: undefined })] }, "jwt[0].issuer.url"],
    ["http", { ...top, jwt: [entry({ url: "http://oidc.example" })] }, "jwt[0].issuer.url"],
    ["a query", { ...top, jwt: [entry({ url: "https://oidc.example?a=b" })] }, "jwt[0].issuer.url"],
    [
      "credentials",
      { ...top, jwt: [entry({ url: "https://a:b@oidc.example" })] },
      "jwt[0].issuer.url",
    ],
    ["a number as URL", { ...top, jwt: [entry({ url: 1 })] }, "jwt[0].issuer.url"],
    [
      "Latchkey's issuer",
      { ...top, jwt: [entry({ url: "https://latchkey.example" })] },
      "jwt[0].issuer.url",
    ],
    ["the same twice", { ...top, jwt: [entry({}), entry({})] }, "jwt[1].issuer.url"],
    [
      "discovery at itself",
      { ...top, jwt: [entry({ discoveryURL: issuer.url })] },
      "jwt[0].issuer.discoveryURL",
    ],
    [
      "discovery and keys",
      { ...top, jwt: [entry({ discoveryURL: "https://d.example", jwks: "{}" })] },
      "jwt[0].issuer.discoveryURL",
    ],
    ["no audience", { ...top, jwt: [entry({ audiences: [] })] }, "jwt[0].issuer.audiences"],
    [
      "an empty audience",
      { ...top, jwt: [entry({ audiences: [""] })] },
      "jwt[0].issuer.audiences[0]",
    ],
    [
      "a number as audience",
      { ...top, jwt: [entry({ audiences: [1] })] },
      "jwt[0].issuer.audiences[0]",
    ],
    [
      "an audience of service accounts",
      { ...top, jwt: [entry({ audiences: ["ci", "https://kubernetes.default.svc"] })] },
      "jwt[0].issuer.audiences[1]",
    ],
    [
      "an audience twice",
      { ...top, jwt: [entry({ audiences: ["ci", "ci"] })] },
      "jwt[0].issuer.audiences[0]",
    ],
    [
      "an audience in another",
      { ...top, jwt: [entry({ audiences: ["ci", "ci/a"] })] },
      "jwt[0].issuer.audiences[1]",
    ],
    [
      "another policy",
      { ...top, jwt: [entry({ audienceMatchPolicy: "MatchAll" })] },
      "jwt[0].issuer.audienceMatchPolicy",
    ],
    [
      "no certificate",
      { ...top, jwt: [entry({ certificateAuthority: "x" })] },
      "jwt[0].issuer.certificateAuthority",
    ],
    [
      "an expression",
      { ...top, jwt: [entry({}, { claimValidationRules: [{ expression: "true" }] })] },
      "jwt[0].claimValidationRules[0].expression",
    ],
    [
      "no claim",
      { ...top, jwt: [entry({}, { claimValidationRules: [{ requiredValue: "x" }] })] },
      "jwt[0].claimValidationRules[0].claim",
    ],
    ["a field that is no word", { ...top, "a secret": 1 }, "(another field)"],
  ])("are refused with the field: %s", (_, raw, field) => {
    expect(parseIssuerEntries(raw, taken)).toMatchObject({ kind: "refused", field });
  });
});

test.each<[claims: object, missing: string | undefined]>([
  [{ owner: "1", tier: "" }, undefined],
  [{ owner: "1" }, "tier"],
  [{ owner: 1, tier: "" }, "owner"],
  [{ owner: ["1"], tier: "" }, "owner"],
  [{ owner: true, tier: "" }, "owner"],
  [{}, "owner"],
])("of %j, the claims of an issuer's rules lack %j", (claims, missing) => {
  const claimValidationRules = [{ claim: "owner", requiredValue: "1" }, { claim: "tier" }];
  const found = parse(entry({}, { claimValidationRules }));
  const [first] = found.kind === "issuers" ? found.issuers : [];
  expect(first && missingClaim(first, { ...claims })).toBe(missing);
});
