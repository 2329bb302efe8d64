import { describe, expect, test } from "vitest";
import {
  endingTtl,
  keyLines,
  successorName,
  successorSpec,
} from "../../../src/client/keys/key-view.ts";

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
    metadata: { name: "ci", uid: "u" },
    spec: { user: "alice", key: "s3cret-key-value", ttl: 60, ttlAfterLastActivity: true },
  });
  expect(Object.fromEntries(lines)).toMatchObject({
    Scope: "no scope: all rights of alice",
    User: "alice",
    Lifetime: "60 seconds after its last use",
    Expires: "never",
  });
  expect(JSON.stringify(lines)).not.toContain("s3cret");
});
