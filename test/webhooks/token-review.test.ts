import { describe, expect, test } from "vitest";
import { tokenReviewHandler } from "../../src/webhooks/token-review.ts";
import { posted, reviewing, stranger, viewWith } from "./reviewing.ts";

const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: "canary-key-of-somebody" } };

test("a key that works says who it is, and its use is noted", async () => {
  const deps = reviewing({ view: viewWith({ groups: ["devs"] }) });
  const response = await tokenReviewHandler(deps)(posted(review), stranger);
  expect(await response.json()).toMatchObject({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    status: { authenticated: true, user: { username: "alice", groups: ["devs"], extra: { "management.service/key-id": [expect.anything()] } } },
  });
  expect([deps.used.length, deps.results]).toEqual([1, ["authenticated"]]);
});

describe("nobody is told more than no", () => {
  test.each<[string, Parameters<typeof reviewing>[0], string]>([
    ["garbage", { found: "garbage" }, "garbage"],
    ["a key that nobody has", {}, "unknown"],
    ["a disabled key", { view: viewWith({ disabled: true }) }, "refused"],
    ["a key that ended", { view: viewWith({ ttl: 1 }) }, "refused"],
  ])("by %s", async (_rule, seen, result) => {
    const deps = reviewing(seen);
    deps.clock.advance(10 ** 13);
    const response = await tokenReviewHandler(deps)(posted(review), stranger);
    expect(await response.json()).toEqual({ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", status: { authenticated: false } });
    expect([deps.used, deps.results]).toEqual([[], [result]]);
  });
});

test("while the keys are not read, the answer is an error, which kube-apiserver does not cache", async () => {
  const deps = reviewing({ view: viewWith(), isCold: true });
  const response = await tokenReviewHandler(deps)(posted(review), stranger);
  expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ status: { authenticated: false, error: "latchkey has not read the access keys yet" } })]);
  expect(deps.results).toEqual(["not-ready"]);
});

test.each<[string, unknown]>([
  ["no JSON", "canary-key-of-somebody"],
  ["another version", { ...review, apiVersion: "authentication.k8s.io/v1beta1" }],
  ["another kind", { ...review, kind: "SubjectAccessReview" }],
  ["no token", { ...review, spec: {} }],
])("%s is answered with 400, and shows nothing of what was sent", async (_rule, body) => {
  const response = await tokenReviewHandler(reviewing({ view: viewWith() }))(posted(body), stranger);
  expect([response.status, await response.text()]).toEqual([400, expect.stringMatching(/^(?!.*canary).*TokenReview of authentication.k8s.io\/v1/)]);
});
