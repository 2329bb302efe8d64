import { expect, test } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import { parseTerms } from "../../src/api/owned-access-key.ts";
import { newBoundKey } from "../../src/tokens/bound-key.ts";
import { observedMetadata } from "../support/observed-objects.ts";
import { presentedKey } from "../../src/tokens/presented-key.ts";

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
