import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { missingKey, sentKey, withKey } from "../../src/tokens/admitted-key.ts";
import { observedMetadata } from "../support/observed-objects.ts";

const reveal = (key: SecretText | undefined): string | undefined => key && SecretText.reveal(key);
const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("a key that is missing", () => {
  test.each<[string, object]>([
    ["is made on a create", {}],
    ["is made for an empty text, too", { spec: { key: "" } }],
    ["is made for null, too", { spec: { key: null } }],
  ])("%s", (_rule, object) => {
    expect(reveal(missingKey(object, undefined))).toMatch(/^lk_/);
  });

  test("is the stored one on an update", () => {
    expect(reveal(missingKey({ spec: {} }, { spec: { key: "stored" } }))).toBe("stored");
  });

  test.each<[string, object, object | undefined]>([
    ["is not missing when it was sent", { spec: { key: "sent" } }, undefined],
    ["is not made for a number", { spec: { key: 1234567890123456 } }, undefined],
    ["is not made for a list, nor kept", { spec: { key: ["sent"] } }, { spec: { key: "stored" } }],
    [
      "is not replaced when another was sent",
      { spec: { key: "sent" } },
      { spec: { key: "stored" } },
    ],
    // An object that never had one was made while no webhook ran; whoever changes it now may not be
    // whose key it would be.
    ["is not made on an update", { spec: {} }, { spec: {} }],
  ])("%s", (_rule, object, stored) => {
    expect(missingKey(object, stored)).toBeUndefined();
  });
});

test("a key goes beside what was sent", () => {
  expect(withKey({ kind: "K", spec: { ttl: 1 } }, new SecretText("x"))).toEqual({
    kind: "K",
    spec: { ttl: 1, key: "x" },
  });
  expect(withKey({ kind: "K" }, new SecretText("x"))).toEqual({ kind: "K", spec: { key: "x" } });
});

describe("a key that is written", () => {
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

  test.each<[string, string, string, string]>([
    ["plain", "plain-key-of-alice", "plain", digest("plain-key-of-alice")],
    ["a digest", `sha256:${digest("k")}`, "digest", digest("k")],
    [
      "a bound digest",
      `sha256:${bound("k", "user:alice")}`,
      "bound-digest",
      bound("k", "user:alice"),
    ],
  ])("is %s", (_rule, key, form, keyDigest) => {
    expect(own(key)).toMatchObject({ form, keyDigest });
  });

  test("may be none", () => {
    expect([sentKey({ spec: {} }), sentKey({ spec: { key: "" } }), sentKey(undefined)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test.each<[string, string, ReturnType<typeof claim>, boolean]>([
    [
      "a plain key and its digest",
      "plain-key-of-alice",
      claim(digest("plain-key-of-alice"), "bob"),
      true,
    ],
    [
      "a plain key and its digest that is bound to another's user",
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
    ["a digest and the same", `sha256:${digest("k")}`, claim(digest("k"), "bob"), true],
    [
      "a bound digest and the same for the same user",
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
      "a digest and a bound one: nobody can tell",
      `sha256:${digest("k")}`,
      claim(bound("k", "user:alice"), "alice"),
      false,
    ],
    ["a plain key and no key", "plain-key-of-alice", claim(undefined, "alice"), false],
  ])("is compared: %s", (_rule, key, other, isSame) => {
    expect(own(key)?.matches(other)).toBe(isSame);
  });
});
