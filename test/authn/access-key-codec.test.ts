import fc from "fast-check";
import { expect, test } from "vitest";
import type { ObservedAccessKey } from "../../src/api/owned-access-key.ts";
import { accessKeyCodec } from "../../src/authn/access-key-codec.ts";
import { accessKeyCacheEntry } from "../../src/tokens/access-key.ts";
import { observedMetadata } from "../support/observed-objects.ts";

test("accessKeyCodec decodes what it encoded, including uid and resourceVersion", () => {
  const value = {
    metadata: observedMetadata(),
    spec: {
      user: "alice",
      disabled: false,
      ttlAfterLastActivity: false,
      groups: [],
      scope: "none",
    },
    keyDigest: "d",
    status: {},
    conditions: [],
  } as const;
  const entry = { uid: value.metadata.uid, resourceVersion: value.metadata.resourceVersion, value };
  expect(accessKeyCodec.decode(accessKeyCodec.encode(entry), "one")).toEqual(entry);
});

const encoded = (value: ObservedAccessKey): string => {
  const { uid, resourceVersion } = value.metadata;
  return accessKeyCodec.encode({ uid, resourceVersion, value });
};

const text = fc.string({ maxLength: 8 });
const condition = fc.record(
  {
    type: text,
    status: fc.constantFrom("True", "False"),
    reason: text,
    message: text,
    observedGeneration: fc.nat(),
    lastTransitionTime: text,
    more: text,
  },
  { requiredKeys: ["type", "status", "reason", "message", "lastTransitionTime"] },
);
const metadata = fc.record(
  {
    name: text,
    uid: text,
    resourceVersion: text,
    generation: fc.nat(),
    creationTimestamp: text,
    deletionTimestamp: text,
    annotations: fc.constantFrom({}, { "management.service/requester": "alice" }),
    finalizers: fc.array(text, { maxLength: 2 }),
  },
  { requiredKeys: ["name", "uid", "resourceVersion", "creationTimestamp"] },
);
const spec = fc.record(
  {
    user: text,
    groups: fc.array(text, { maxLength: 2 }),
    key: fc.constantFrom("", "a-plain-key-of-somebody", "sha256:unbound"),
    ttl: fc.nat(),
    disabled: fc.boolean(),
    scope: fc.constantFrom({}, { projects: [{ project: "web" }] }, "no scope"),
  },
  { requiredKeys: [] },
);
const status = fc.record(
  {
    observedGeneration: fc.integer(),
    lastActivity: text,
    expiresAt: text,
    conditions: fc.array(fc.oneof(condition, text), { maxLength: 3 }),
    more: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

test("accessKeyCodec decodes what it encoded, of any key", () => {
  fc.assert(
    fc.property(fc.record({ metadata, spec, status }, { requiredKeys: ["metadata"] }), (raw) => {
      const seen = accessKeyCacheEntry(JSON.parse(JSON.stringify(raw)));
      expect(accessKeyCodec.decode(encoded(seen), "one").value).toEqual(seen);
    }),
  );
});

test("accessKeyCodec halves the size of a key with the conditions of Latchkey", () => {
  const standing = {
    type: "Ready",
    status: "True",
    reason: "Active",
    message: "m",
    observedGeneration: 1,
    lastTransitionTime: "t",
  };
  const raw = {
    metadata: { name: "k", uid: "u", resourceVersion: "1", creationTimestamp: "t" },
    status: { conditions: [standing, standing, standing, standing] },
  };
  const seen = accessKeyCacheEntry(raw);
  expect(encoded(seen).length).toBeLessThan(JSON.stringify(seen).length / 2);
});
