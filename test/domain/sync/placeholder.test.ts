import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import {
  haveSameValues,
  isEmptied,
  isFilled,
  isObservedWhole,
  pick,
  placeholderRequestOf,
} from "../../../src/domain/sync/placeholder.ts";

const { sharedSecretName, sharedSecretNamespace } = labels;

function marks(
  keys?: string,
  given: Readonly<Record<string, string>> = {
    [sharedSecretName]: "db",
    [sharedSecretNamespace]: "team",
  },
) {
  return { labels: given, annotations: keys === undefined ? {} : { [annotations.syncKeys]: keys } };
}

describe("the request of a Secret", () => {
  test("is absent without the label of a name", () => {
    expect(placeholderRequestOf(marks("a", {}))).toBeUndefined();
    expect(placeholderRequestOf(marks("a", { [sharedSecretNamespace]: "team" }))).toBeUndefined();
  });

  test("is not that of a Secret that an agent beside this Latchkey fills", () => {
    const asking = { [sharedSecretName]: "db", [sharedSecretNamespace]: "team" };
    const filled = marks("a", { ...asking, [labels.outboxUid]: "uid" });
    expect(placeholderRequestOf(filled)).toBeUndefined();
    expect([isEmptied(filled), isObservedWhole(filled)]).toEqual([false, false]);
    expect(isObservedWhole(marks("a", asking))).toBe(true);
  });

  test.for<[string, Readonly<Record<string, string>>, RegExp]>([
    ["no namespace", { [sharedSecretName]: "db" }, /sharedsecret-namespace: the label is empty/],
    [
      "an empty namespace",
      { [sharedSecretName]: "db", [sharedSecretNamespace]: "" },
      /sharedsecret-namespace: the label is empty/,
    ],
    [
      "an empty name",
      { [sharedSecretName]: "", [sharedSecretNamespace]: "team" },
      /sharedsecret-name: the label is empty/,
    ],
  ])("with %s has no source and says so", ([, given, problem]) => {
    const request = placeholderRequestOf(marks(undefined, given));
    expect(request).not.toHaveProperty("source");
    expect(request?.problem).toMatch(problem);
  });

  test.for<[string | undefined, Readonly<Record<string, string>> | undefined]>([
    [undefined, undefined],
    ["a", { a: "a" }],
    [" PASS = password , ca.crt\n", { PASS: "password", "ca.crt": "ca.crt" }],
    ["a=x,b=x", { a: "x", b: "x" }],
    ["__proto__=constructor", Object.fromEntries([["__proto__", "constructor"]])],
  ])("with sync-keys %j picks %j", ([keys, picked]) => {
    const request = placeholderRequestOf(marks(keys));
    expect(request).not.toHaveProperty("problem");
    expect(request?.source).toEqual({ namespace: "team", name: "db" });
    expect(request?.keys && Object.fromEntries(request.keys)).toEqual(picked);
  });

  test.for<[string, RegExp]>([
    ["", /is empty; name at least one data key/],
    [" , ", /is empty/],
    ["a=", /"a=" is invalid/],
    ["=a", /"=a" is invalid/],
    ["a b", /"a b" is invalid/],
    ["..=a", /"..=a" is invalid/],
    [".", /"." is invalid/],
    ["a=b=c", /"a=b=c" is invalid/],
    ["a,a=b", /has the key "a" twice/],
    [`${"a".repeat(254)}`, /is invalid/],
    [
      Array.from({ length: 65 }, (_, index) => `k${index}`).join(),
      /has 65 items; must have at most 64/,
    ],
    ["a".repeat(8193), /has 8193 bytes/],
  ])("with sync-keys %j is invalid", ([keys, problem]) => {
    expect(placeholderRequestOf(marks(keys))).toMatchObject({
      source: { namespace: "team", name: "db" },
      problem: expect.stringMatching(problem),
    });
  });
});

describe("picked values", () => {
  const values = { a: 1, b: 2, constructor: 3 };

  test("are all values without a list", () => {
    expect(pick(values, undefined)).toEqual({ kind: "values", values });
  });

  test("have the names of the list", () => {
    const keys = new Map([
      ["x", "a"],
      ["y", "a"],
      ["constructor", "constructor"],
    ]);
    expect(pick(values, keys)).toEqual({ kind: "values", values: { x: 1, y: 1, constructor: 3 } });
  });

  test.each(["none", "toString", "__proto__"])("are missing with the key %s", (key) => {
    expect(pick(values, new Map([["x", key]]))).toEqual({ kind: "missing", key });
  });
});

test.each([
  [{}, {}, true],
  [{ a: "1" }, { a: "1" }, true],
  [{ a: "1", b: "2" }, { b: "2", a: "1" }, true],
  [{ a: "1" }, { a: "2" }, false],
  [{ a: "1" }, {}, false],
  [{}, { a: "1" }, false],
  [{ toString: "1" }, { a: "1" }, false],
])("the values %j and %j are the same: %j", (one, other, expected) => {
  expect(haveSameValues(one, other)).toBe(expected);
});

test.each([
  [{}, {}, [false, false]],
  [{ [sharedSecretName]: "db" }, {}, [false, true]],
  [{}, { [annotations.filled]: "true" }, [true, true]],
  [{}, { [annotations.filled]: "yes" }, [false, false]],
])("a Secret with %j and %j is filled, or emptied: %j", (given, notes, expected) => {
  const marked = { labels: given, annotations: notes };
  expect([isFilled(marked), isEmptied(marked)]).toEqual(expected);
});
