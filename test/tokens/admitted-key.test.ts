import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { missingKey, sentKey, withKey } from "../../src/tokens/admitted-key.ts";
import { observedMetadata } from "../support/observed-objects.ts";

const reveal = (key: SecretText | undefined): string | undefined => key && SecretText.reveal(key);
const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("missingKey", () => {
  test.each<[string, object]>([
    ["generates a key on a create", {}],
    ["generates a key for an empty string", { spec: { key: "" } }],
    ["generates a key for null", { spec: { key: null } }],
  ])("%s", (_rule, object) => {
    expect(reveal(missingKey(object, undefined))).toMatch(/^lk_/);
  });

  test("returns the stored key on an update", () => {
    expect(reveal(missingKey({ spec: {} }, { spec: { key: "stored" } }))).toBe("stored");
  });

  test.each<[string, object, object | undefined]>([
    ["returns undefined if the request has a key", { spec: { key: "sent" } }, undefined],
    ["returns undefined for a number", { spec: { key: 1234567890123456 } }, undefined],
    [
      "returns undefined for a list, also with a stored key",
      { spec: { key: ["sent"] } },
      { spec: { key: "stored" } },
    ],
    [
      "returns undefined if an update has another key",
      { spec: { key: "sent" } },
      { spec: { key: "stored" } },
    ],
    // The object was created while no webhook ran. The user who updates it may not be the
    // requester.
    ["returns undefined on an update without a stored key", { spec: {} }, { spec: {} }],
  ])("%s", (_rule, object, stored) => {
    expect(missingKey(object, stored)).toBeUndefined();
  });
});

test("withKey keeps the other fields", () => {
  expect(withKey({ kind: "K", spec: { ttl: 1 } }, new SecretText("x"))).toEqual({
    kind: "K",
    spec: { ttl: 1, key: "x" },
  });
  expect(withKey({ kind: "K" }, new SecretText("x"))).toEqual({ kind: "K", spec: { key: "x" } });
});

describe("sentKey", () => {
  const bound = (key: string, subject: string): string =>
    `${digest(key).slice(0, 16)}.${digest(`${key}\n${subject}`)}`;
  const claim = (keyDigest: string | undefined, user: string) => ({
    metadata: observedMetadata(),
    spec: {
      user,
      disabled: false,
      ttlAfterLastActivity: false,
      groups: [],
      scope: "none" as const,
    },
    keyDigest,
  });
  const own = (key: string) => sentKey({ spec: { user: "alice", key } });

  test.each<[string, string, string]>([
    ["plain", "plain-key-of-alice", digest("plain-key-of-alice")],
    ["a bound digest", `sha256:${bound("k", "user:alice")}`, bound("k", "user:alice")],
  ])("returns the digest of a key that is %s", (_rule, key, keyDigest) => {
    expect(own(key)).toMatchObject({ keyDigest });
  });

  test("returns undefined for a digest that is not bound, which the schema refuses", () => {
    expect(own(`sha256:${digest("k")}`)).toBeUndefined();
  });

  test("returns undefined without a key", () => {
    expect([sentKey({ spec: {} }), sentKey({ spec: { key: "" } }), sentKey(undefined)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test.each<[string, string, ReturnType<typeof claim>, boolean]>([
    [
      "a plain key and the same plain key",
      "plain-key-of-alice",
      claim(digest("plain-key-of-alice"), "bob"),
      true,
    ],
    [
      "a plain key and its digest bound to another user",
      "plain-key-of-alice",
      claim(bound("plain-key-of-alice", "user:bob"), "bob"),
      true,
    ],
    [
      "a plain key and a copy of its bound digest",
      "plain-key-of-alice",
      claim(bound("plain-key-of-alice", "user:bob"), "eve"),
      false,
    ],
    [
      "a bound digest and the same digest for the same user",
      `sha256:${bound("k", "user:alice")}`,
      claim(bound("k", "user:alice"), "alice"),
      true,
    ],
    [
      "a bound digest and a copy of it for another user",
      `sha256:${bound("k", "user:alice")}`,
      claim(bound("k", "user:alice"), "eve"),
      false,
    ],
    [
      "a bound digest and a plain key, which cannot be compared",
      `sha256:${bound("k", "user:alice")}`,
      claim(digest("k"), "alice"),
      false,
    ],
    ["a plain key and no key", "plain-key-of-alice", claim(undefined, "alice"), false],
  ])("compares %s", (_rule, key, other, isSame) => {
    expect(own(key)?.matches(other)).toBe(isSame);
  });
});
