import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { digestIn, missingKey, withKey } from "../../src/tokens/admitted-key.ts";

const reveal = (key: SecretText | undefined): string | undefined => key && SecretText.reveal(key);
const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("a key that is missing", () => {
  test.each<[string, object]>([
    ["is made on a create", {}],
    ["is made for an empty text, too", { spec: { key: "" } }],
  ])("%s", (_rule, object) => {
    expect(reveal(missingKey(object, undefined))).toMatch(/^lk_/);
  });

  test("is the stored one on an update", () => {
    expect(reveal(missingKey({ spec: {} }, { spec: { key: "stored" } }))).toBe("stored");
  });

  test.each<[string, object, object | undefined]>([
    ["is not missing when it was sent", { spec: { key: "sent" } }, undefined],
    ["is not replaced when another was sent", { spec: { key: "sent" } }, { spec: { key: "stored" } }],
    // An object that never had one was made while no webhook ran; whoever changes it now may not be whose key it would be.
    ["is not made on an update", { spec: {} }, { spec: {} }],
  ])("%s", (_rule, object, stored) => {
    expect(missingKey(object, stored)).toBeUndefined();
  });
});

test("a key goes beside what was sent", () => {
  expect(withKey({ kind: "K", spec: { ttl: 1 } }, new SecretText("x"))).toEqual({ kind: "K", spec: { ttl: 1, key: "x" } });
  expect(withKey({ kind: "K" }, new SecretText("x"))).toEqual({ kind: "K", spec: { key: "x" } });
});

test("plain keys and digests have one digest", () => {
  expect([digestIn({ spec: { key: "plain" } }), digestIn({ spec: { key: `sha256:${digest("plain")}` } }), digestIn({ spec: {} }), digestIn(undefined)]).toEqual([digest("plain"), digest("plain"), undefined, undefined]);
});
