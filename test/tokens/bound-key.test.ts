import { expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { parseTerms } from "../../src/api/owned-access-key.ts";
import { boundDigest, newBoundKey } from "../../src/tokens/bound-key.ts";
import { observedMetadata } from "../support/observed-objects.ts";
import { presentedKey } from "../../src/tokens/presented-key.ts";

test("a bound digest begins with the index of the key", () => {
  // printf abc | sha256sum; printf 'abc\nuser:alice' | sha256sum
  expect(boundDigest(new SecretText("abc"), "user:alice")).toBe(
    "sha256:ba7816bf8f01cfea.bc14793895fbcbc22b5064c953c94dce6ecf6ca2f90b56de9fe2f32320e02f24",
  );
});

test("a key that its user makes is found by its bound digest, for its subject alone", () => {
  const { digest, plain } = newBoundKey("user:alice");
  expect(digest).toMatch(/^sha256:[0-9a-f]{16}\.[0-9a-f]{64}$/);
  const presented = presentedKey(new SecretText(plain));
  const matches = (spec: Record<string, unknown>) =>
    presented?.matches({
      metadata: observedMetadata({}),
      keyDigest: digest.slice("sha256:".length),
      spec: parseTerms(spec),
    });
  expect([
    matches({ user: "alice" }),
    matches({ user: "bob" }),
    matches({ team: "alice" }),
  ]).toEqual([true, false, false]);
});
