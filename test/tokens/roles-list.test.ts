import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PolicyRule } from "../../src/api/role.ts";
import { mostRoleBytes, publishedRoles } from "../../src/domain/scope/published-roles.ts";
import {
  isRolesVersion,
  rolesListProblems,
  signRolesList,
  verifyRolesList,
} from "../../src/tokens/roles-list.ts";
import { verifyRevokedList } from "../../src/tokens/revoked-list.ts";
import { changedTexts } from "../support/changed-texts.ts";
import { runs } from "../support/property-runs.ts";
import { newKeys, publishedKeys, signedText, signerWith, strangeKey } from "./signed-text.ts";

const second = 1_767_225_600;
const now = second * 1000;
const signingKeys = newKeys("next", "signing");
const { signing } = signingKeys;
const strange = strangeKey();
const options = { keys: publishedKeys(signingKeys), issuer: "https://issuer", now };
const version = "0123456789abcdef0123456789abcdef";
const viewer: PolicyRule = {
  apiGroups: [""],
  resources: ["pods", "*/log"],
  verbs: ["get"],
  resourceNames: ["web"],
  nonResourceURLs: ["/metrics"],
};
const roles = new Map([["viewer", [viewer]]]);

const sign = (published = publishedRoles(roles)) =>
  signRolesList({ issuer: options.issuer, now, version, published }, signingKeys);
const verify = (text: string) => verifyRolesList(text, options);

const header = { alg: "ES256", typ: "latchkey-roles+jwt", kid: signing.kid };
const claims = {
  iss: options.issuer,
  iat: second,
  version,
  omitted: 0,
  roles: [{ role: "viewer", rules: [{ verbs: ["get"] }] }],
};
const es256 = signerWith(signing.privateKey);
const withHeader = (changes: object, signer = es256) =>
  signedText({ ...header, ...changes }, claims, signer);
const withClaims = (changes: object) => signedText(header, { ...claims, ...changes }, es256);
const withRule = (rule: unknown) => withClaims({ roles: [{ role: "viewer", rules: [rule] }] });

describe("a list of roles", () => {
  test("arrives with its version, its time, its roles and the number of those left out", async () => {
    expect(await verify(await sign())).toEqual({
      ok: true,
      list: { version, issuedAt: now, roles, omitted: 0 },
    });
    const large = { roles: [], omitted: ["a", "b"] };
    expect(await verify(await sign(large))).toMatchObject({
      list: { roles: new Map(), omitted: 2 },
    });
  });

  test("is written without empty lists", async () => {
    const text = await sign(publishedRoles(new Map([["r", [{ ...viewer, resourceNames: [] }]]])));
    const payload = Buffer.from(text.split(".")[1] ?? "", "base64url").toString();
    expect(payload).not.toContain("resourceNames");
  });

  test("may be as large as it is published", async () => {
    const large = [{ ...viewer, verbs: ["x".repeat(mostRoleBytes - 200)] }];
    const published = publishedRoles(new Map([["r", large]]));
    expect(published.omitted).toEqual([]);
    expect(await verify(await sign(published))).toMatchObject({ ok: true });
  });

  test("has the names of a table as names", async () => {
    const named = new Map([
      ["__proto__", [viewer]],
      ["constructor", []],
    ]);
    const result = await verify(await sign(publishedRoles(named)));
    expect(result.ok && [...result.list.roles]).toEqual([...named]);
  });
});

describe("a list of roles is refused", () => {
  test.each<[string, string, string]>([
    ["empty", "", "malformed"],
    ["of 512 KiB and a character", "a".repeat(512 * 1024 + 1), "oversized"],
    [
      "with the typ of a list of revoked tokens",
      withHeader({ typ: "latchkey-revoked+jwt" }),
      "type",
    ],
    ["with the typ of a token", withHeader({ typ: "JWT" }), "type"],
    ["with alg none", withHeader({ alg: "none" }), "algorithm"],
    ["with an unknown kid", withHeader({ kid: strange.kid }), "unknown-kid"],
    ["signed with another key", withHeader({}, signerWith(strange.privateKey)), "signature"],
    ["of another issuer", withClaims({ iss: "https://other" }), "issuer"],
    ["without a time", withClaims({ iat: undefined }), "claims"],
    ["without a version", withClaims({ version: undefined }), "claims"],
    ["with a version of another form", withClaims({ version: "1.20" }), "claims"],
    ["without the number of those left out", withClaims({ omitted: undefined }), "claims"],
    ["with half a role left out", withClaims({ omitted: 0.5 }), "claims"],
    ["with less than none left out", withClaims({ omitted: -1 }), "claims"],
    ["without roles", withClaims({ roles: undefined }), "roles"],
    ["with roles that are no list", withClaims({ roles: { viewer: [] } }), "roles"],
    ["with a role without a name", withClaims({ roles: [{ rules: [] }] }), "roles"],
    ["with a role without rules", withClaims({ roles: [{ role: "viewer" }] }), "roles"],
    ["with a role that is a text", withClaims({ roles: ["viewer"] }), "roles"],
    ["with a role twice", withClaims({ roles: [claims.roles[0], claims.roles[0]] }), "roles"],
    ["with a rule that is a text", withRule("get"), "roles"],
    ["with a field that may restrict", withRule({ verbs: ["get"], when: ["now"] }), "roles"],
    ["with verbs that are a text", withRule({ verbs: "get" }), "roles"],
    ["with a verb that is a number", withRule({ verbs: ["get", 1] }), "roles"],
  ])("%s", async (_rule, text, reason) => {
    expect(await verify(text)).toEqual({ ok: false, reason });
    expect(rolesListProblems).toContain(reason);
  });

  test("with any change of a character, and never throws", async () => {
    await fc.assert(
      fc.asyncProperty(changedTexts(await sign()), async (changed) => {
        const result = await verify(changed);
        expect(!result.ok && rolesListProblems.includes(result.reason)).toBe(true);
      }),
      runs(300),
    );
  });

  test("with any signed roles that are not lists of texts", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        fc.pre(!(Array.isArray(value) && value.every((text) => typeof text === "string")));
        const result = await verify(withRule({ verbs: value }));
        expect(result).toEqual({ ok: false, reason: "roles" });
        const other = await verify(withClaims({ roles: value }));
        expect(other.ok).toBe(Array.isArray(value) && value.length === 0);
      }),
      runs(200),
    );
  });
});

test("a list of roles is no list of revoked tokens, nor the other way round", async () => {
  expect(await verifyRevokedList(await sign(), options)).toEqual({ ok: false, reason: "type" });
});

test("a version has 32 hex digits", () => {
  expect(
    [version, "", version.slice(1), `${version}0`, version.toUpperCase()].map(isRolesVersion),
  ).toEqual([true, false, false, false, false]);
});
