import { describe, expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { attenuationProblem } from "../../../src/domain/access-key/attenuation.ts";
import { resolvedKeyWith } from "../../support/review-fixture.ts";
import { born } from "../../support/observed-objects.ts";

const scope = (...names: readonly string[]) =>
  parseScopeLimit({ projects: names.map((project) => ({ project })) });
const terms = (changes: Parameters<typeof resolvedKeyWith>[0]) => resolvedKeyWith(changes).key.spec;

describe("a request with a key may create a key", () => {
  test.each<[string, Parameters<typeof resolvedKeyWith>[0], Parameters<typeof resolvedKeyWith>[0]]>(
    [
      ["with the same scope", { scope: scope("web") }, { scope: scope("web") }],
      ["with a narrower scope", { scope: scope("web") }, { scope: scope("web", "pay") }],
      ["without a scope if its own key has none", {}, {}],
      ["that expires at the same time", { ttl: 60 }, { ttl: 60 }],
      [
        "that expires no later than an idle ttl counted from the request",
        { ttl: 60 },
        { ttl: 60, ttlAfterLastActivity: true },
      ],
      [
        "with an idle ttl if its own key does not expire",
        { ttl: 60, ttlAfterLastActivity: true },
        {},
      ],
    ],
  )("%s", (_rule, made, asking) => {
    expect(attenuationProblem(terms(made), resolvedKeyWith(asking), born)).toBeUndefined();
  });
});

describe("a request with a key must not create a key", () => {
  test.each<
    [string, Parameters<typeof resolvedKeyWith>[0], Parameters<typeof resolvedKeyWith>[0], RegExp]
  >([
    [
      "with a wider scope",
      { scope: scope("web", "pay") },
      { scope: scope("web") },
      /^spec\.scope: must not exceed the scope/,
    ],
    ["without a scope", {}, { scope: scope("web") }, /^spec\.scope: must not exceed the scope/],
    [
      "that does not expire",
      {},
      { ttl: 60 },
      /^spec\.ttl: .* expires at 2026-01-01T00:01:00Z; set spec\.ttl to at most 60 seconds without /,
    ],
    ["that expires later", { ttl: 61 }, { ttl: 60 }, /^spec\.ttl: .* at most 60 seconds/],
    [
      "whose expiry moves",
      { ttl: 10, ttlAfterLastActivity: true },
      { ttl: 60 },
      /without spec\.ttlAfterLastActivity/,
    ],
    [
      "if its own key is not accepted",
      {},
      { disabled: true },
      /^The parent access key ".+" is Disabled; use a valid credential$/,
    ],
  ])("%s", (_rule, made, asking, message) => {
    expect(attenuationProblem(terms(made), resolvedKeyWith(asking), born)).toMatch(message);
  });

  test("if its own key is gone", () => {
    expect(attenuationProblem(terms({}), "gone", born)).toMatch(
      /^The parent access key was deleted; use a valid credential$/,
    );
  });

  test("that exceeds the scope of any ancestor", () => {
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

  test("except without a ttl, if the configured maximum limits both keys", () => {
    const config = {
      maximumKeyTtl: 30,
      namespace: "latchkey-system",
      prefixes: { user: "", team: "" },
    };
    expect(attenuationProblem(terms({}), { ...resolvedKeyWith(), config }, born)).toBeUndefined();
  });
});
