import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isRecord } from "../../../src/api/parse.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import { isSame, mergePatch } from "../../../src/domain/plan/merge-patch.ts";
import { runs } from "../../support/property-runs.ts";

/** RFC 7386, section 2. */
function apply(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete result[field];
    else result[field] = apply(result[field], value);
  }
  return result;
}

const secret = new SecretText("x");
const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<unknown>(1, "a", true, secret),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "d"), tie("value"), { noNullPrototype: true }),
  ),
}));
const records = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), values, {
  noNullPrototype: true,
});

describe("a merge patch", () => {
  test("turns one object into another, and is undefined for equal objects", () => {
    fc.assert(
      fc.property(records, records, (from, to) => {
        const patch = mergePatch(from, to);
        expect(apply(from, patch ?? {})).toEqual(to);
        expect(patch === undefined).toBe(isSame(from, to));
        expect(mergePatch(from, structured(from))).toBeUndefined();
      }),
      runs(300),
    );
  });

  test.for<[string, Record<string, unknown>, Record<string, unknown>, unknown]>([
    [
      "contains only what changed",
      { a: 1, b: { c: 1, d: 2 } },
      { a: 1, b: { c: 1, d: 3 } },
      { b: { d: 3 } },
    ],
    [
      "removes fields that are missing in the wanted object",
      { a: 1, b: { c: 1 } },
      { b: {} },
      { a: null, b: { c: null } },
    ],
    ["replaces lists as a whole", { a: [1, 2] }, { a: [1, 3] }, { a: [1, 3] }],
    [
      "removes fields that are undefined in the wanted object",
      { a: 1 },
      { a: undefined },
      { a: null },
    ],
    ["ignores undefined fields that did not exist", {}, { a: undefined }, undefined],
    ["is undefined if only the order of fields differs", { a: 1, b: 2 }, { b: 2, a: 1 }, undefined],
    ["is undefined for the same secret", { a: secret }, { a: secret }, undefined],
  ])("%s", ([, from, to, patch]) => {
    expect(mergePatch(from, to)).toEqual(patch);
  });

  test("handles fields with the names of inherited properties", () => {
    const own: Record<string, unknown> = JSON.parse('{"__proto__":{"a":1},"constructor":"x"}');
    expect(JSON.stringify(mergePatch(own, {}))).toBe('{"__proto__":null,"constructor":null}');
    expect(JSON.stringify(mergePatch({}, own))).toBe('{"__proto__":{"a":1},"constructor":"x"}');
    expect([mergePatch(own, own), isSame(own, {}), isSame({ toString: undefined }, {})]).toEqual([
      undefined,
      false,
      true,
    ]);
  });

  test("treats two secrets as different, even with the same text", () => {
    const again = new SecretText("x");
    expect(mergePatch({ a: secret }, { a: again })?.["a"]).toBe(again);
    expect(isSame(secret, again)).toBe(false);
  });
});

function structured(value: Record<string, unknown>): Record<string, unknown> {
  const copy = (inner: unknown): unknown =>
    Array.isArray(inner) ? inner.map(copy) : isRecord(inner) ? structured(inner) : inner;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([field, inner]) => [field, copy(inner)]),
  );
}
