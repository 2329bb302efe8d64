import { expect, test } from "vitest";
import { parseTokenReview } from "../../src/api/token-review.ts";

const review = {
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  spec: { token: "canary" },
};

test("parseTokenReview returns the token as a SecretText", () => {
  expect(parseTokenReview(review)).toBeDefined();
  expect(JSON.stringify(parseTokenReview(review))).toBe('"[secret]"');
});

test.each<[string, unknown]>([
  ["another version", { ...review, apiVersion: "authentication.k8s.io/v1beta1" }],
  ["another kind", { ...review, kind: "SubjectAccessReview" }],
  ["a token that is not a string", { ...review, spec: { token: 7 } }],
  ["no input", undefined],
])("parseTokenReview returns undefined for %s", (_what, raw) => {
  expect(parseTokenReview(raw)).toBeUndefined();
});
