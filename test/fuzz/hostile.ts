import fc from "fast-check";
import { isRecord } from "../../src/api/parse.ts";
import { weighted } from "../support/weighted.ts";

/**
 * Strings that are properties of every object, special characters of patterns, or invalid Unicode.
 */
export const hostileWord = fc.oneof(
  fc.constantFrom(
    ...["__proto__", "constructor", "toString", "hasOwnProperty", "toJSON", "valueOf", "length"],
    ...["", "*", "**", "web-*", "a.b", "(x", "[", "\\", "..", "/", "../x", "%2e", "\u0000"],
    ...["\ud800", "\udfff\ud800", "ä\u0301", "sha256:", "lk_"],
  ),
  fc.string({ unit: "binary", maxLength: 12 }),
);

/**
 * Placeholder for deeply nested lists: the API server accepts 10,000 levels, JSON.stringify fails
 * on them.
 */
const deepMark = "nested 9000 deep";

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

/**
 * Untrusted JSON values; each is made by JSON.parse, so that `__proto__` is a field like any other.
 */
export const hostileValue: fc.Arbitrary<unknown> = weighted<unknown[]>(
  [6, fc.jsonValue({ maxDepth: 3 })],
  [3, hostileWord],
  [
    2,
    fc
      .constantFrom(
        '{"__proto__":{"allowed":true}}',
        '{"constructor":{"prototype":{}}}',
        '{"toJSON":{}}',
        "1e308",
        "-1e308",
        "1e-320",
        "-0",
        "9007199254740993",
        nested(500),
        `"${deepMark}"`,
        `{"a":"${deepMark}"}`,
        `"${"x".repeat(70_000)}"`,
        `[${'"y",'.repeat(3_000)}"y"]`,
      )
      .map((text): unknown => JSON.parse(text)),
  ],
);

/** A value with some nested values replaced, removed or added. */
export function spoiled(base: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const replaced = fc.record({
    value: hostileValue,
    field: fc.option(hostileWord, { nil: undefined }),
  });
  const change = fc.tuple(fc.nat(), weighted([1, fc.constant("remove" as const)], [4, replaced]));
  return fc
    .tuple(base, fc.array(change, { maxLength: 3 }))
    .map(([value, changes]) =>
      changes.reduce((spoilt: unknown, [place, how]) => changed(spoilt, place, how), value),
    );
}

type Change = "remove" | { readonly value: unknown; readonly field: string | undefined };

/** Descends along the digits of `place` and applies the change at the end. */
function changed(value: unknown, place: number, how: Change): unknown {
  if (Array.isArray(value) && value.length > 0) {
    const index = place % value.length;
    const rest = Math.floor(place / Math.max(2, value.length));
    if (rest === 0)
      return how === "remove" ? value.toSpliced(index, 1) : value.with(index, how.value);
    return value.with(index, changed(value[index], rest - 1, how));
  }
  if (isRecord(value) && Object.keys(value).length > 0) {
    const entries = Object.entries(value);
    const index = place % entries.length;
    const rest = Math.floor(place / Math.max(2, entries.length));
    const [name, inner] = entries[index] ?? ["", undefined];
    if (rest > 0)
      return Object.fromEntries(entries.with(index, [name, changed(inner, rest - 1, how)]));
    if (how === "remove") return Object.fromEntries(entries.toSpliced(index, 1));
    return Object.fromEntries(
      how.field === undefined
        ? entries.with(index, [name, how.value])
        : [...entries, [how.field, how.value]],
    );
  }
  return how === "remove" ? null : how.value;
}

/** A request body: JSON, or a truncated part of it. */
export function bodyOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const text = value.map((one) =>
    (JSON.stringify(one) ?? "").replaceAll(`"${deepMark}"`, nested(9_000)),
  );
  const truncated = fc
    .tuple(text, fc.nat())
    .map(([whole, end]) => whole.slice(0, end % (whole.length + 1)));
  return weighted([12, text], [1, truncated], [1, fc.string({ unit: "binary", maxLength: 50 })]);
}
