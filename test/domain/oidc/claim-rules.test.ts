import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { claimMismatch, parseClaimRules } from "../../../src/domain/oidc/claim-rules.ts";
import { runs } from "../../support/property-runs.ts";

const rulesOf = (text: string) => {
  const parsed = parseClaimRules(text);
  if (parsed.kind === "refused") throw new Error(parsed.problem);
  return parsed.rules;
};
const problemOf = (text: string) => {
  const parsed = parseClaimRules(text);
  return parsed.kind === "refused" ? parsed.problem : undefined;
};
const meets = (text: string, claims: object) =>
  claimMismatch(rulesOf(text), { ...claims }) === undefined;

describe("the rules of a key", () => {
  test("are lines, whose last one may end", () => {
    expect(rulesOf("repository_id=1\nref=refs/heads/*\n")).toEqual([
      { name: "repository_id", value: "1", isPrefix: false },
      { name: "ref", value: "refs/heads/", isPrefix: true },
    ]);
    expect(rulesOf("sub=a=b")).toEqual([{ name: "sub", value: "a=b", isPrefix: false }]);
  });

  test.each([
    ["", "line 1 must be a name, an equals sign and a value"],
    ["sub", "line 1 must be a name, an equals sign and a value"],
    ["=x", "line 1 must be a name, an equals sign and a value"],
    ["sub=", "line 1 has no value"],
    ["sub=a\n\nref=b", "line 2 must be a name"],
    ["sub=a\nsub=b", "line 2 names a claim of another line"],
    ["sub =a", "line 1 has a blank"],
    ["sub= a", "line 1 has a blank"],
    ["sub=a\r\nref=b", "line 1 has a blank"],
    ["sub=a\u0000b", "line 1 has a blank"],
    ["sub=a*", 'line 1 has a "*"'],
    ["sub=*", 'line 1 has a "*"'],
    ["sub=a/*/b", 'line 1 has a "*"'],
    ["sub=a/**", 'line 1 has a "*"'],
    ["/a~2=b", "line 1 has a name that is no JSON pointer"],
    ["/=b", "line 1 has a name that is no JSON pointer"],
    [`${"n".repeat(257)}=b`, "line 1 has a name of more than 256 characters"],
    [`sub=${"v".repeat(1025)}`, "line 1 has a value of more than 1024 characters"],
    [Array.from({ length: 17 }, (_, at) => `c${at}=v`).join("\n"), "it has more than 16 lines"],
  ])("are refused: %j", (text, problem) => {
    expect(problemOf(text)).toContain(problem);
  });

  test("survive their text", () => {
    const part = fc.stringMatching(/^[a-z][a-z0-9_.-]{0,20}$/);
    const rule = fc.record({ name: part, value: part });
    const rules = fc.uniqueArray(rule, {
      selector: ({ name }) => name,
      minLength: 1,
      maxLength: 16,
    });
    fc.assert(
      fc.property(rules, (all) => {
        const text = all.map(({ name, value }) => `${name}=${value}`).join("\n");
        expect(rulesOf(text)).toEqual(all.map((one) => ({ ...one, isPrefix: false })));
      }),
      runs(200),
    );
  });
});

describe("a claim", () => {
  test.each<[rules: string, claims: object, isMet: boolean]>([
    ["sub=a", { sub: "a" }, true],
    ["sub=a", { sub: "A" }, false],
    ["sub=a", {}, false],
    ["sub=a", { sub: null }, false],
    ["sub=1", { sub: 1 }, false],
    ["sub=1", { sub: "1" }, true],
    ["email_verified=true", { email_verified: true }, true],
    ["email_verified=true", { email_verified: "true" }, true],
    ["email_verified=true", { email_verified: false }, false],
    ["ref=refs/heads/*", { ref: "refs/heads/main" }, true],
    ["ref=refs/heads/*", { ref: "refs/heads/" }, false],
    ["ref=refs/heads/*", { ref: "refs/headsx" }, false],
    ["ref=refs/heads/*", { ref: "refs/tags/v1" }, false],
    ["groups=ops", { groups: ["dev", "ops"] }, true],
    ["groups=ops", { groups: ["dev"] }, false],
    ["groups=ops", { groups: [["ops"]] }, false],
    ["groups=ops", { groups: { ops: true } }, false],
    ["/kubernetes.io/namespace=ci", { "kubernetes.io": { namespace: "ci" } }, true],
    ["/kubernetes.io/namespace=ci", { "kubernetes.io": "ci" }, false],
    ["kubernetes.io=ci", { "kubernetes.io": "ci" }, true],
    ["/a~1b/c~0d=x", { "a/b": { "c~d": "x" } }, true],
    ["/a/0=x", { a: ["x"] }, false],
    ["constructor=x", {}, false],
    ["/__proto__/x=y", {}, false],
    ["sub=é", { sub: "é" }, true],
    ["sub=é", { sub: "e\u0301" }, false],
    ["sub=a\nref=b", { sub: "a", ref: "b" }, true],
    ["sub=a\nref=b", { sub: "a", ref: "c" }, false],
  ])("%j of %j: %j", (rules, claims, isMet) => {
    expect(meets(rules, claims)).toBe(isMet);
  });

  test("that differs is named with its rule", () => {
    expect(claimMismatch(rulesOf("sub=a\nref=b"), { sub: "a", ref: ["c"] })).toEqual({
      rule: { name: "ref", value: "b", isPrefix: false },
      claim: ["c"],
    });
  });

  test("of any kind is met only by its own text, true and false", () => {
    const claims = fc.dictionary(fc.constantFrom("a", "b"), fc.jsonValue({ maxDepth: 2 }));
    fc.assert(
      fc.property(
        claims,
        fc.constantFrom("a", "b"),
        fc.string({ minLength: 1 }),
        (all, name, value) => {
          const parsed = parseClaimRules(`${name}=${value}`);
          if (parsed.kind === "refused" || parsed.rules[0]?.isPrefix !== false) return;
          const claim = Object.hasOwn(all, name) ? all[name] : undefined;
          const texts = (Array.isArray(claim) ? claim : [claim]).map((one) =>
            typeof one === "boolean" ? String(one) : one,
          );
          expect(claimMismatch(parsed.rules, all) === undefined).toBe(texts.includes(value));
        },
      ),
      runs(500),
    );
  });
});
