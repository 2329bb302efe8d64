import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isRecord,
  isTrueAt,
  listAt,
  numberAt,
  parseConditions,
  parseMetadata,
  recordAt,
  stringAt,
  stringMapAt,
  stringsAt,
} from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";

const raw = {
  metadata: {
    name: "a",
    uid: "u",
    resourceVersion: "7",
    creationTimestamp: "2026-01-01T00:00:00Z",
  },
};
const condition = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

test("isRecord returns false for a list, null and a SecretText", () => {
  expect([{}, { a: 1 }, [], null, "a", undefined, new SecretText("a")].map(isRecord)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

describe("accessors", () => {
  const odd = {
    text: "a",
    number: 1,
    nan: Number.NaN,
    yes: true,
    list: ["a", 1, null],
    map: { a: "b", c: 1 },
  };
  test.for<[string, unknown, unknown]>([
    ["stringAt returns a string", stringAt(odd, "text"), "a"],
    ["stringAt returns undefined for a number", stringAt(odd, "number"), undefined],
    ["stringAt returns undefined for no input", stringAt(undefined, "text"), undefined],
    ["numberAt returns a number", numberAt(odd, "number"), 1],
    ["numberAt returns undefined for NaN", numberAt(odd, "nan"), undefined],
    ["numberAt returns undefined for a string", numberAt(odd, "text"), undefined],
    ["numberAt returns undefined for null", numberAt(null, "number"), undefined],
    ["isTrueAt returns true for true", isTrueAt(odd, "yes"), true],
    ["isTrueAt returns false for a string", isTrueAt(odd, "text"), false],
    ["isTrueAt returns false for a list", isTrueAt([], "yes"), false],
    ["listAt returns a list", listAt(odd, "list"), ["a", 1, null]],
    ["listAt returns an empty list for an object", listAt(odd, "map"), []],
    ["listAt returns an empty list for a number", listAt(1, "list"), []],
    ["stringsAt returns the strings of a list", stringsAt(odd, "list"), ["a"]],
    ["recordAt returns an object", recordAt(odd, "map"), { a: "b", c: 1 }],
    ["recordAt returns an empty object for a list", recordAt(odd, "list"), {}],
    ["recordAt returns an empty object for a string", recordAt("a", "map"), {}],
    ["stringMapAt returns the strings of an object", stringMapAt(odd, "map"), { a: "b" }],
  ])("%s", ([, found, expected]) => {
    expect(found).toEqual(expected);
  });

  test("never throw, whatever the input", () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (value, field) => {
        for (const read of [stringAt, numberAt, isTrueAt, listAt, stringsAt, recordAt, stringMapAt])
          read(value, field);
        parseConditions(value);
      }),
    );
  });
});

describe("parseMetadata", () => {
  test("returns empty maps and lists for absent ones", () => {
    expect(parseMetadata(raw)).toEqual({
      ...raw.metadata,
      generation: 0,
      labels: {},
      annotations: {},
      finalizers: [],
    });
  });

  test("returns every field", () => {
    const whole = {
      ...raw.metadata,
      namespace: "ns",
      generation: 3,
      deletionTimestamp: "2026-01-02T00:00:00Z",
      labels: { a: "b" },
      annotations: { c: "d" },
      finalizers: ["e"],
    };
    expect(parseMetadata({ metadata: { ...whole, managedFields: [] } })).toEqual(whole);
  });

  test("removes the last-applied-configuration annotation", () => {
    const annotations = {
      "kubectl.kubernetes.io/last-applied-configuration": '{"data":"canary"}',
      a: "b",
    };
    expect(parseMetadata({ metadata: { ...raw.metadata, annotations } }).annotations).toEqual({
      a: "b",
    });
  });

  test.for(["name", "uid", "resourceVersion", "creationTimestamp"])(
    "throws an error that names a missing %s",
    (field) => {
      expect(() => parseMetadata({ metadata: { ...raw.metadata, [field]: undefined } })).toThrow(
        new TypeError(`metadata.${field} is missing`),
      );
    },
  );
});

test("parseConditions omits invalid conditions", () => {
  const others = [
    { ...condition, message: 1 },
    { ...condition, lastTransitionTime: undefined },
    "Ready",
  ];
  expect(parseConditions({ conditions: [...others, condition] })).toEqual([condition]);
});
