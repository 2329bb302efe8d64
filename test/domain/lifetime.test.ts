import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createdAt,
  expiringFrom,
  instantOf,
  isOver,
  lifetimeOf,
  lifetimeStart,
} from "../../src/domain/lifetime.ts";

const born = Date.parse("2026-01-01T00:00:00Z");
const used = born + 3_000;
const day = 86_400;

describe("the lifetime of a key", () => {
  test.each([
    ["has no end without a ttl", { ttl: 0, maximumTtl: 0 }, undefined],
    ["has no end without a ttl after a use", { ttl: 0, maximumTtl: 0, idleSince: used }, undefined],
    ["is its ttl from creation", { ttl: 5, maximumTtl: 0 }, born + 5_000],
    ["is its ttl from the last use", { ttl: 5, maximumTtl: 0, idleSince: used }, used + 5_000],
    ["is at most the maximum", { ttl: 9, maximumTtl: 7 }, born + 7_000],
    [
      "is at most the maximum after the last use",
      { ttl: 9, maximumTtl: 7, idleSince: used },
      used + 7_000,
    ],
    ["is the maximum from creation without a ttl", { ttl: 0, maximumTtl: 7 }, born + 7_000],
    [
      "is the maximum from creation without a ttl after a use",
      { ttl: 0, maximumTtl: 7, idleSince: used },
      born + 7_000,
    ],
    ["is its ttl if the maximum is longer", { ttl: 5, maximumTtl: 7 }, born + 5_000],
  ])("%s", (_rule, terms, endsAt) => {
    expect(lifetimeOf({ createdAt: born, ...terms })?.endsAt).toBe(endsAt);
  });

  test.each([
    ["a ttl over the maximum", { ttl: 9, maximumTtl: 7 }, true],
    ["no ttl under a maximum", { ttl: 0, maximumTtl: 7 }, true],
    ["a ttl equal to the maximum", { ttl: 7, maximumTtl: 7 }, false],
    ["a ttl without a maximum", { ttl: 7, maximumTtl: 0 }, false],
  ])("%s is clamped: %o -> %s", (_rule, terms, clamped) => {
    expect(lifetimeOf({ createdAt: born, ...terms })?.clamped).toBe(clamped);
  });

  test("is over at its end, not before, and never without an end", () => {
    const life = lifetimeOf({ createdAt: born, ttl: 5, maximumTtl: 0 });
    expect([
      isOver(life, born + 4_999),
      isOver(life, born + 5_000),
      isOver(undefined, Infinity),
    ]).toEqual([false, true, false]);
  });

  test.each([
    ["a lifetime of a day", day, undefined],
    ["a lifetime of ten days", 10 * day, born + 9 * day * 1000],
  ])("the last tenth of %s begins at its instant or never", (_rule, ttl, from) => {
    expect(expiringFrom(lifetimeOf({ createdAt: born, ttl, maximumTtl: 0 }))).toBe(from);
  });

  test("has no last tenth without an end", () => {
    expect(expiringFrom(undefined)).toBeUndefined();
  });

  test("is exact, without a maximum the requested one, and never longer than the maximum", () => {
    const seconds = fc.integer({ min: 0, max: 2 ** 31 - 1 });
    fc.assert(
      fc.property(
        seconds,
        seconds,
        fc.option(fc.integer({ min: 0, max: 2 ** 40 }), { nil: undefined }),
        (ttl, maximumTtl, since) => {
          const idleSince = since === undefined ? undefined : born + since;
          const life = lifetimeOf({ createdAt: born, ttl, maximumTtl, idleSince });
          const shortest = Math.min(ttl || Infinity, maximumTtl || Infinity);
          const start = ttl === 0 ? born : (idleSince ?? born);
          expect(life?.endsAt).toBe(shortest === Infinity ? undefined : start + shortest * 1000);
        },
      ),
    );
  });
});

describe("instants", () => {
  test.each([
    ["2026-01-01T00:00:00Z", born],
    ["2026-01-01T00:00:00.250000Z", born + 250],
    ["soon", undefined],
    [undefined, undefined],
  ])("%s is %s", (text, instant) => {
    expect(instantOf(text)).toBe(instant);
  });

  test.each([
    ["is its creation without a record", undefined, born],
    ["is its creation if the record is invalid", "soon", born],
    ["is its creation if the record is later", "2026-01-01T00:00:01Z", born],
    ["is its creation if the record is a second earlier", "2025-12-31T23:59:59Z", born],
    ["is the record of a restored object", "2025-12-31T23:59:58Z", born - 2_000],
  ])("the start of a lifetime %s", (_rule, recorded, start) => {
    const annotations: Record<string, string> =
      recorded === undefined ? {} : { "management.service/created-at": recorded };
    expect(lifetimeStart({ creationTimestamp: "2026-01-01T00:00:00Z", annotations })).toBe(start);
  });

  test("an object with an invalid creation timestamp was created in 1970", () => {
    expect(createdAt({ creationTimestamp: "?" })).toBe(0);
  });
});
