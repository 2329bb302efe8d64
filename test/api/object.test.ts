import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byAge, keyOf, type Metadata, refOf } from "../../src/api/object.ts";

test("refOf is the inverse of keyOf", () => {
  const names = fc.string({ unit: fc.constantFrom("a", "-", ".", ":", "0"), minLength: 1 });
  fc.assert(
    fc.property(names, fc.option(names, { nil: undefined }), (name, namespace) => {
      const ref = namespace === undefined ? { name } : { namespace, name };
      expect(refOf(keyOf(ref))).toEqual(ref);
    }),
  );
});

test("keyOf returns the name, after the namespace if there is one", () => {
  expect([keyOf({ name: "a" }), keyOf({ namespace: "ns", name: "a" })]).toEqual(["a", "ns/a"]);
});

describe("byAge", () => {
  const objects = fc.record({
    creationTimestamp: fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
    uid: fc.constantFrom("a", "b", "c"),
  });
  const wrap = (metadata: Partial<Metadata>) => ({
    metadata: { creationTimestamp: "2026-01-01T00:00:00Z", uid: "uid", ...metadata },
  });
  const sign = (one: Partial<Metadata>, other: Partial<Metadata>) =>
    Math.sign(byAge(wrap(one), wrap(other)));

  test("sorts by creationTimestamp, then by uid", () => {
    expect(
      sign(
        { creationTimestamp: "2026-01-01T00:00:00Z", uid: "b" },
        { creationTimestamp: "2026-01-01T00:00:01Z", uid: "a" },
      ),
    ).toBe(-1);
    expect(sign({ uid: "b" }, { uid: "a" })).toBe(1);
  });

  test("is a total order", () => {
    fc.assert(
      fc.property(objects, objects, objects, (a, b, c) => {
        expect(sign(a, b) + sign(b, a)).toBe(0);
        expect(sign(a, b) === 0).toBe(
          a.uid === b.uid && a.creationTimestamp === b.creationTimestamp,
        );
        expect(sign(a, b) <= 0 && sign(b, c) <= 0 && sign(a, c) > 0).toBe(false);
      }),
    );
  });
});
