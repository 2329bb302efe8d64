import { describe, expect, test } from "vitest";
import { tokenReviewHandler } from "../../src/webhooks/token-review.ts";
import {
  posted,
  fakeReviewDeps,
  anonymousClient,
  resolvedKeyWith,
} from "../support/review-fixture.ts";

const review = {
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  spec: { token: "canary-key-of-somebody" },
};

test("authenticates a valid key as its user, and records the use", async () => {
  const deps = fakeReviewDeps({ view: resolvedKeyWith({ groups: ["devs"] }) });
  const response = await tokenReviewHandler(deps)(posted(review), anonymousClient);
  expect(JSON.parse(response.body)).toMatchObject({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    status: {
      authenticated: true,
      user: {
        username: "alice",
        groups: ["devs"],
        extra: { "management.service/key-id": [expect.anything()] },
      },
    },
  });
  expect([deps.used.length, deps.results]).toEqual([1, ["authenticated"]]);
});

describe("returns only that the token is not authenticated", () => {
  test.each<[string, Parameters<typeof fakeReviewDeps>[0], string]>([
    ["a malformed token", { found: "malformed" }, "malformed"],
    ["an unknown key", {}, "unknown"],
    ["a disabled key", { view: resolvedKeyWith({ disabled: true }) }, "refused"],
    ["an expired key", { view: resolvedKeyWith({ ttl: 1 }) }, "refused"],
  ])("for %s", async (_rule, seen, result) => {
    const deps = fakeReviewDeps(seen);
    deps.clock.advance(10 ** 13);
    const answer = tokenReviewHandler(deps)(posted(review), anonymousClient);
    await deps.clock.run(100);
    expect(JSON.parse((await answer).body)).toEqual({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      status: { authenticated: false },
    });
    expect([deps.used, deps.results]).toEqual([[], [result]]);
  });
});

test("records a mismatch only for an unknown key, with the objects of its index", async () => {
  const sharing = [resolvedKeyWith().key];
  const deps = fakeReviewDeps({ sharing });
  const answer = tokenReviewHandler(deps)(posted(review), anonymousClient);
  await deps.clock.run(100);
  await answer;
  expect(deps.mismatched).toEqual([resolvedKeyWith().key.metadata.uid]);
  for (const found of [
    "malformed",
    resolvedKeyWith({ disabled: true }),
    resolvedKeyWith(),
  ] as const) {
    const other = fakeReviewDeps({ sharing, found });
    await tokenReviewHandler(other)(posted(review), anonymousClient);
    expect(other.mismatched).toEqual([]);
  }
});

test("waits for a key that was just created", async () => {
  const deps = fakeReviewDeps({});
  const answer = tokenReviewHandler(deps)(posted(review), anonymousClient);
  await deps.clock.run(50);
  deps.standing.found = resolvedKeyWith();
  await deps.clock.run(50);
  expect(JSON.parse((await answer).body)).toMatchObject({ status: { authenticated: true } });
});

test.each<[string, Parameters<typeof fakeReviewDeps>[0]]>([
  ["while the cache is not synced", { view: resolvedKeyWith(), isCold: true }],
  ["while the watch is interrupted and the key is unknown", { isFollowing: false }],
])("%s, it returns an error, which kube-apiserver does not cache", async (_rule, seen) => {
  const deps = fakeReviewDeps(seen);
  const answer = tokenReviewHandler(deps)(posted(review), anonymousClient);
  await deps.clock.run(100);
  const response = await answer;
  expect([response.status, JSON.parse(response.body)]).toEqual([
    200,
    expect.objectContaining({
      status: {
        authenticated: false,
        error: expect.stringContaining("access key cache not synced"),
      },
    }),
  ]);
  expect(deps.results).toEqual(["not-ready"]);
});

test("authenticates a known key while the watch is interrupted", async () => {
  const response = await tokenReviewHandler(
    fakeReviewDeps({ view: resolvedKeyWith(), isFollowing: false }),
  )(posted(review), anonymousClient);
  expect(JSON.parse(response.body)).toMatchObject({ status: { authenticated: true } });
});

test.each<[string, unknown]>([
  ["invalid JSON", "canary-key-of-somebody"],
  ["another version", { ...review, apiVersion: "authentication.k8s.io/v1beta1" }],
  ["another kind", { ...review, kind: "SubjectAccessReview" }],
  ["no token", { ...review, spec: {} }],
])("responds with 400 to %s, without its content", async (_rule, body) => {
  const response = await tokenReviewHandler(fakeReviewDeps({ view: resolvedKeyWith() }))(
    posted(body),
    anonymousClient,
  );
  expect([response.status, response.body]).toEqual([
    400,
    expect.stringMatching(/^(?!.*canary).*TokenReview of authentication.k8s.io\/v1/),
  ]);
});
