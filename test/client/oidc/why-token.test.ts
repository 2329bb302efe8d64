import { expect, test } from "vitest";
import { listAt, stringAt } from "../../../src/api/parse.ts";
import { runInMemory } from "../memory-cli.ts";
import {
  issuersMap,
  keyNamed,
  now,
  showsToken,
  tokenOf,
  unreadPolicies,
  withFile,
} from "./unsigned-token.ts";

const rules = "repository=acme/shop\nenvironment=production";

interface Asked {
  readonly rules?: string;
  readonly spec?: object;
  readonly issuers?: readonly object[];
  readonly forbidden?: readonly string[];
  readonly words?: readonly string[];
}

/** Runs `why oak/ci --with-token-file` about a file with this text. */
async function whyToken(token: string, asked: Asked = {}) {
  const keys = [keyNamed("ci", asked.rules ?? rules, asked.spec)];
  const objects = { ownedaccesskeys: keys, configmaps: asked.issuers ?? [issuersMap()] };
  return withFile(`${token}\n`, (path) =>
    runInMemory(["why", "oak/ci", `--with-token-file=${path}`, ...(asked.words ?? [])], {
      objects,
      forbidden: [...unreadPolicies, ...(asked.forbidden ?? [])],
    }),
  );
}

test("why says that a key accepts a token, and that it does not check the signature", async () => {
  const token = tokenOf();
  const { code, stdout, stderr } = await whyToken(token);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("The key accepts the token, if its issuer signed it.");
  expect(stdout).toContain("does not check the signature");
  expect(showsToken(stdout, token)).toBe(false);
});

const otherIssuer = "https://other.example";
const required = { claimValidationRules: [{ claim: "sub", requiredValue: "shop" }] };

test.each<[string, string, Asked, string]>([
  ["that is none", "canary-text", {}, "The token is no JWT"],
  ["of another algorithm", tokenOf({}, { alg: "none" }), {}, "is not signed with one of RS256"],
  [
    "of another issuer",
    tokenOf({ iss: otherIssuer }),
    {},
    'The issuer of the token is "https://other.example", and the key names "https://oidc.example".',
  ],
  [
    "of an issuer that the ConfigMap lacks",
    tokenOf(),
    { issuers: [issuersMap({}, otherIssuer)] },
    'ConfigMap "latchkey-system/latchkey-issuers" has no entry with the issuer "https://oidc.example".',
  ],
  ["without the ConfigMap", tokenOf(), { issuers: [] }, "has no entry with the issuer"],
  ["for a key with a secret", tokenOf(), { spec: { key: "k".repeat(20) } }, "it has spec.key"],
  ["for a key with invalid rules", tokenOf(), { rules: "aud=a" }, "claims is invalid"],
  [
    "for another key",
    tokenOf({ aud: "https://latchkey.example/other" }),
    {},
    'The audience of the token names the key "other"; request one with the audience ' +
      '"https://latchkey.example/ci".',
  ],
  [
    "for no key",
    tokenOf({ aud: "https://latchkey.example" }),
    {},
    'No audience of the token names a key; request one with the audience "https://latchkey.example/ci".',
  ],
  [
    "for several keys",
    tokenOf({ aud: ["https://latchkey.example/ci", "https://latchkey.example/other"] }),
    {},
    "The audiences of the token name several keys",
  ],
  ["that has ended", tokenOf({ exp: now - 0.5 }), {}, "The token ended at 2025-12-31T23:59:59Z"],
  ["without iat", tokenOf({ iat: undefined }), {}, "has no exp or no iat"],
  ["for two days", tokenOf({ exp: now + 172_800 }), {}, "more than 24 hours after its iat"],
  ["of tomorrow", tokenOf({ nbf: now + 61 }), {}, "more than 60 s ahead"],
  [
    "with another value",
    tokenOf({ environment: "staging" }),
    {},
    'Claim "environment" is "staging", and the rule says "production".',
  ],
  [
    "without the claim",
    tokenOf({ environment: undefined }),
    {},
    'Claim "environment" is absent, and the rule says "production".',
  ],
  [
    "with a number",
    tokenOf({ environment: 5 }),
    { rules: "environment=5" },
    'Claim "environment" is 5, and the rule says "5", but a number never matches.',
  ],
  [
    "with another beginning",
    tokenOf({ environment: { a: ["\n"] } }),
    { rules: "repository=acme/*\nenvironment=prod/*" },
    String.raw`Claim "environment" is {"a":["\n"]}, and the rule says "prod/*".`,
  ],
  [
    "with a long value",
    tokenOf({ environment: "x".repeat(200) }),
    {},
    `Claim "environment" is "${"x".repeat(99)}..., and the rule says "production".`,
  ],
  [
    "without what the issuer has to say",
    tokenOf(),
    { issuers: [issuersMap(required)] },
    'Claim "sub" is "canary-subject", and claimValidationRules of the issuer require "shop".',
  ],
])("why says why a key refuses a token %s", async (_what, token, asked, sentence) => {
  const { code, stdout, stderr } = await whyToken(token, { ...asked, words: ["--exit-code"] });
  expect([code, stderr]).toEqual([3, ""]);
  expect(stdout.split("\n").join(" ").toLowerCase()).toContain(sentence.toLowerCase());
  expect(showsToken(stdout, token)).toBe(false);
});

test("why names every reason of a token that fits in nothing", async () => {
  const { stdout } = await whyToken(tokenOf({ aud: "a", exp: now, environment: "x" }));
  expect(stdout.match(/^ {2}PROBLEM/gm)).toHaveLength(3);
});

test("why does not say that a key accepts a token if the user may not read the issuers", async () => {
  const { code, stdout } = await whyToken(tokenOf({ aud: "a" }), {
    forbidden: ["configmaps"],
    words: ["--exit-code"],
  });
  expect(code).toBe(0);
  expect(stdout).toContain("The token fits the key, as far as it is known without ConfigMap");
  expect(stdout).toContain("get configmaps/latchkey-issuers in namespace latchkey-system");
});

test("why tells a token that fits from a key that is disabled", async () => {
  const { stdout } = await whyToken(tokenOf(), { spec: { disabled: true } });
  expect(stdout).toContain("info  The token fits the key, which does not work itself.");
});

test("a report for programs has an item for each reason", async () => {
  const token = tokenOf({ environment: "staging" });
  const { stdout } = await whyToken(token, { words: ["-o", "json"] });
  const items = listAt(JSON.parse(stdout), "items");
  expect(items.map((item) => `${stringAt(item, "state")} ${stringAt(item, "reason")}`)).toEqual(
    expect.arrayContaining(["problem TokenRefused", "info SignatureNotChecked"]),
  );
  expect(showsToken(stdout, token)).toBe(false);
});

test.each([
  ["shsec/database", "--with-token-file is only for an OwnedAccessKey"],
  ["oak/ci", "cannot be read: ENOENT"],
])("why %s with a file that does not exist is refused", async (word, sentence) => {
  expect(await runInMemory(["why", word, "--with-token-file=/nonexistent"])).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(sentence),
  });
});
