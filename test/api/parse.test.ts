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

test("an object is neither a list nor null nor a secret", () => {
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

describe("what is not of the shape that is read is not there", () => {
  const odd = {
    text: "a",
    number: 1,
    nan: Number.NaN,
    yes: true,
    list: ["a", 1, null],
    map: { a: "b", c: 1 },
  };
  test.for<[string, unknown, unknown]>([
    ["a string", stringAt(odd, "text"), "a"],
    ["a number is no string", stringAt(odd, "number"), undefined],
    ["nothing is no string", stringAt(undefined, "text"), undefined],
    ["a number", numberAt(odd, "number"), 1],
    ["what is no number is none", numberAt(odd, "nan"), undefined],
    ["a text is no number", numberAt(odd, "text"), undefined],
    ["nothing is no number", numberAt(null, "number"), undefined],
    ["true is true", isTrueAt(odd, "yes"), true],
    ["a text is not true", isTrueAt(odd, "text"), false],
    ["nothing is not true", isTrueAt([], "yes"), false],
    ["a list", listAt(odd, "list"), ["a", 1, null]],
    ["an object is an empty list", listAt(odd, "map"), []],
    ["nothing is an empty list", listAt(1, "list"), []],
    ["the strings of a list", stringsAt(odd, "list"), ["a"]],
    ["an object", recordAt(odd, "map"), { a: "b", c: 1 }],
    ["a list is an empty object", recordAt(odd, "list"), {}],
    ["nothing is an empty object", recordAt("a", "map"), {}],
    ["the strings of an object", stringMapAt(odd, "map"), { a: "b" }],
  ])("%s", ([, found, expected]) => {
    expect(found).toEqual(expected);
  });

  test("and no data of whatever shape makes reading throw", () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (value, field) => {
        for (const read of [stringAt, numberAt, isTrueAt, listAt, stringsAt, recordAt, stringMapAt])
          read(value, field);
        parseConditions(value);
      }),
    );
  });
});

describe("metadata", () => {
  test("has empty maps and lists where the API server leaves them out", () => {
    expect(parseMetadata(raw)).toEqual({
      ...raw.metadata,
      generation: 0,
      labels: {},
      annotations: {},
      finalizers: [],
    });
  });

  test("is read whole", () => {
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

  test("loses the copy of the object that client-side apply keeps in it", () => {
    const annotations = {
      "kubectl.kubernetes.io/last-applied-configuration": '{"data":"canary"}',
      a: "b",
    };
    expect(parseMetadata({ metadata: { ...raw.metadata, annotations } }).annotations).toEqual({
      a: "b",
    });
  });

  test.for(["name", "uid", "resourceVersion", "creationTimestamp"])(
    "without %s is refused by that name",
    (field) => {
      expect(() => parseMetadata({ metadata: { ...raw.metadata, [field]: undefined } })).toThrow(
        new TypeError(`metadata.${field} is missing`),
      );
    },
  );
});

test("conditions of another shape are left out", () => {
  const others = [
    { ...condition, message: 1 },
    { ...condition, lastTransitionTime: undefined },
    "Ready",
  ];
  expect(parseConditions({ conditions: [...others, condition] })).toEqual([condition]);
});
