import { describe, expect, test } from "vitest";
import {
  endingTtl,
  keyLines,
  successorName,
  successorSpec,
} from "../../../src/client/keys/key-view.ts";

const metadata = {
  name: "ci",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const now = Date.parse("2026-11-23T09:30:05.123Z");

test.each([
  ["ci", "ci-r261123093005"],
  ["ci-r250101000000", "ci-r261123093005"],
  ["ci-r1", "ci-r1-r261123093005"],
])("the successor of %s is %s", (name, successor) => {
  expect(successorName(name, now)).toBe(successor);
});

test("a successor has the spec without what is secret", () => {
  const spec = { user: "a", ttl: 5, key: "k", disabled: false, oidcLogin: {}, identity: {} };
  expect(successorSpec(spec)).toEqual({ user: "a", ttl: 5 });
});

describe("the ttl with which a key ends after the overlap", () => {
  test.each([
    ["a key without an end", 3600, undefined, 7200],
    ["a key that ends later", 3600, now + 7_200_000, 7200],
    ["a key that ends earlier", 3600, now + 3_600_000, undefined],
    ["no overlap", 0, undefined, 3600],
  ])("%s", (_what, overlap, endsAt, ttl) => {
    expect(endingTtl({ now, overlap, startsAt: now - 3_600_000, endsAt })).toBe(ttl);
  });
});

test("the description of a key has no key", () => {
  const lines = keyLines({
    metadata,
    spec: { user: "alice", key: "s3cret-key-value", ttl: 60, ttlAfterLastActivity: true },
  });
  expect(Object.fromEntries(lines)).toMatchObject({
    Scope: "no scope: all rights of alice",
    User: "alice",
    Expires: "60s after its last use",
  });
  expect(JSON.stringify(lines)).not.toContain("s3cret");
});

test.each([
  ["never", { user: "alice" }, {}],
  ["1h after its creation", { user: "alice", ttl: 3600 }, {}],
  [
    "30d after its last use, at 2026-03-03T00:00:00Z",
    { user: "alice", ttl: 2_592_000, ttlAfterLastActivity: true },
    { lastActivity: "2026-02-01T00:00:00Z", expiresAt: "2026-03-03T00:00:00Z" },
  ],
])("a description says once that the key expires %s", (text, spec, status) => {
  expect(Object.fromEntries(keyLines({ metadata, spec, status }))).toMatchObject({ Expires: text });
});
