import { expect, test } from "vitest";
import { asNewObject } from "../../../src/domain/requester/new-object.ts";

const now = Date.parse("2026-01-01T00:00:00.9Z");
const start = { "management.service/created-at": "2026-01-01T00:00:00Z" };
const earlier = { "management.service/created-at": "2025-01-01T00:00:00Z" };
const cleanup = "management.service/cleanup";
const due = { annotations: start, finalizers: [cleanup] };

test.each<[string, object, object]>([
  ["of an object without metadata are added", {}, { metadata: due }],
  [
    "of an object with null in their place are added",
    { metadata: { annotations: null, finalizers: null } },
    { metadata: due },
  ],
  [
    "are added beside those of others",
    { metadata: { name: "k", annotations: { a: "b" }, finalizers: ["example.com/x"] }, spec: {} },
    {
      metadata: {
        name: "k",
        annotations: { a: "b", ...start },
        finalizers: ["example.com/x", cleanup],
      },
      spec: {},
    },
  ],
  [
    "of a restored object are kept",
    { metadata: { annotations: earlier, finalizers: [cleanup] } },
    { metadata: { annotations: earlier, finalizers: [cleanup] } },
  ],
  [
    "in the future are replaced",
    { metadata: { annotations: { "management.service/created-at": "2026-01-01T00:00:01Z" } } },
    { metadata: due },
  ],
])("the finalizer and the start of a lifetime %s", (_rule, object, then) => {
  expect(asNewObject({ object: { ...object }, oldObject: undefined }, now)).toEqual(then);
});

test("an update is not changed", () => {
  const object = { metadata: { name: "k" } };
  expect(asNewObject({ object, oldObject: {} }, now)).toBe(object);
});
