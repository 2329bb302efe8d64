import { describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { attenuationProblem } from "../../../src/domain/access-key/attenuation.ts";
import { resolvedKeyWith } from "../../support/review-fixture.ts";
import { born } from "../../support/observed-objects.ts";

const scope = (...names: readonly string[]) =>
  parseScopeLimit({ projects: names.map((project) => ({ project })) });
const terms = (changes: Parameters<typeof resolvedKeyWith>[0]) => resolvedKeyWith(changes).key.spec;

describe("a request with a key makes a key", () => {
  test.each<[string, Parameters<typeof resolvedKeyWith>[0], Parameters<typeof resolvedKeyWith>[0]]>(
    [
      ["like itself", { scope: scope("web") }, { scope: scope("web") }],
      ["of a narrower scope", { scope: scope("web") }, { scope: scope("web", "pay") }],
      ["of any scope where it has none", {}, {}],
      ["that ends when it does", { ttl: 60 }, { ttl: 60 }],
      [
        "that ends before it does when it is idle",
        { ttl: 60 },
        { ttl: 60, ttlAfterLastActivity: true },
      ],
      ["that ends where it does not", { ttl: 60, ttlAfterLastActivity: true }, {}],
    ],
  )("%s", (_rule, made, asking) => {
    expect(attenuationProblem(terms(made), resolvedKeyWith(asking), born)).toBeUndefined();
  });
});

describe("a request with a key makes no key", () => {
  test.each<
    [string, Parameters<typeof resolvedKeyWith>[0], Parameters<typeof resolvedKeyWith>[0], RegExp]
  >([
    [
      "of a wider scope",
      { scope: scope("web", "pay") },
      { scope: scope("web") },
      /^spec\.scope: must not exceed the scope/,
    ],
    ["without a scope", {}, { scope: scope("web") }, /^spec\.scope: must not exceed the scope/],
    [
      "without an end",
      {},
      { ttl: 60 },
      /^spec\.ttl: .* expires at 2026-01-01T00:01:00Z; set spec\.ttl to at most 60 seconds without /,
    ],
    ["that ends later", { ttl: 61 }, { ttl: 60 }, /^spec\.ttl: .* at most 60 seconds/],
    [
      "whose end moves",
      { ttl: 10, ttlAfterLastActivity: true },
      { ttl: 60 },
      /without spec\.ttlAfterLastActivity/,
    ],
    [
      "when it is not accepted itself",
      {},
      { disabled: true },
      /^The parent access key ".+" is Disabled; use a valid credential$/,
    ],
  ])("%s", (_rule, made, asking, message) => {
    expect(attenuationProblem(terms(made), resolvedKeyWith(asking), born)).toMatch(message);
  });

  test("when the key is gone", () => {
    expect(attenuationProblem(terms({}), "gone", born)).toMatch(
      /^The parent access key was deleted; use a valid credential$/,
    );
  });

  test("beyond any of the keys behind it", () => {
    const asking = {
      ...resolvedKeyWith(),
      parentKey: resolvedKeyWith({ scope: scope("web"), ttl: 60 }),
    };
    expect(attenuationProblem(terms({ ttl: 60 }), asking, born)).toMatch(/^spec\.scope/);
    expect(attenuationProblem(terms({ scope: scope("web") }), asking, born)).toMatch(/^spec\.ttl/);
    expect(
      attenuationProblem(terms({ scope: scope("web"), ttl: 60 }), asking, born),
    ).toBeUndefined();
  });

  test("later than a configured maximum would end it anyway", () => {
    const config = {
      maximumKeyTtl: 30,
      namespace: "latchkey-system",
      prefixes: { user: "", team: "" },
    };
    expect(attenuationProblem(terms({}), { ...resolvedKeyWith(), config }, born)).toBeUndefined();
  });
});
