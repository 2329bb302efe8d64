import fc from "fast-check";
import { expect, test } from "vitest";
import { keyOf, refOf } from "../../src/api/object.ts";

test("a key names its object again", () => {
  const names = fc.string({ unit: fc.constantFrom("a", "-", ".", ":", "0"), minLength: 1 });
  fc.assert(
    fc.property(names, fc.option(names, { nil: undefined }), (name, namespace) => {
      const ref = namespace === undefined ? { name } : { namespace, name };
      expect(refOf(keyOf(ref))).toEqual(ref);
    }),
  );
});

test("a key is the name, behind its namespace if it has one", () => {
  expect([keyOf({ name: "a" }), keyOf({ namespace: "ns", name: "a" })]).toEqual(["a", "ns/a"]);
});
