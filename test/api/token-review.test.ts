import { expect, test } from "vitest";
import { parseTokenReview } from "../../src/api/token-review.ts";

const review = {
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  spec: { token: "canary" },
};

test("the token of a review refuses to be printed", () => {
  expect(parseTokenReview(review)).toBeDefined();
  expect(JSON.stringify(parseTokenReview(review))).toBe('"[secret]"');
});

test.each<[string, unknown]>([
  ["another version", { ...review, apiVersion: "authentication.k8s.io/v1beta1" }],
  ["another kind", { ...review, kind: "SubjectAccessReview" }],
  ["a token that is no text", { ...review, spec: { token: 7 } }],
  ["nothing", undefined],
])("%s is no review", (_what, raw) => {
  expect(parseTokenReview(raw)).toBeUndefined();
});
