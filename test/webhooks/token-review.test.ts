import { describe, expect, test } from "vitest";
import { tokenReviewHandler } from "../../src/webhooks/token-review.ts";
import { posted, fakeReviewDeps, stranger, resolvedKeyWith } from "../support/review-fixture.ts";

const review = {
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  spec: { token: "canary-key-of-somebody" },
};

test("a key that works says who it is, and its use is noted", async () => {
  const deps = fakeReviewDeps({ view: resolvedKeyWith({ groups: ["devs"] }) });
  const response = await tokenReviewHandler(deps)(posted(review), stranger);
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

describe("nobody is told more than no", () => {
  test.each<[string, Parameters<typeof fakeReviewDeps>[0], string]>([
    ["malformed", { found: "malformed" }, "malformed"],
    ["a key that nobody has", {}, "unknown"],
    ["a disabled key", { view: resolvedKeyWith({ disabled: true }) }, "refused"],
    ["a key that ended", { view: resolvedKeyWith({ ttl: 1 }) }, "refused"],
  ])("by %s", async (_rule, seen, result) => {
    const deps = fakeReviewDeps(seen);
    deps.clock.advance(10 ** 13);
    const answer = tokenReviewHandler(deps)(posted(review), stranger);
    await deps.clock.run(100);
    expect(JSON.parse((await answer).body)).toEqual({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      status: { authenticated: false },
    });
    expect([deps.used, deps.results]).toEqual([[], [result]]);
  });
});

test("a key that no object holds is told of with the objects of its index, and only such a key is", async () => {
  const sharing = [resolvedKeyWith().key];
  const deps = fakeReviewDeps({ sharing });
  const answer = tokenReviewHandler(deps)(posted(review), stranger);
  await deps.clock.run(100);
  await answer;
  expect(deps.mismatched).toEqual([resolvedKeyWith().key.metadata.uid]);
  for (const found of [
    "malformed",
    resolvedKeyWith({ disabled: true }),
    resolvedKeyWith(),
  ] as const) {
    const other = fakeReviewDeps({ sharing, found });
    await tokenReviewHandler(other)(posted(review), stranger);
    expect(other.mismatched).toEqual([]);
  }
});

test("a key that was made a moment ago is waited for", async () => {
  const deps = fakeReviewDeps({});
  const answer = tokenReviewHandler(deps)(posted(review), stranger);
  await deps.clock.run(50);
  deps.standing.found = resolvedKeyWith();
  await deps.clock.run(50);
  expect(JSON.parse((await answer).body)).toMatchObject({ status: { authenticated: true } });
});

test.each<[string, Parameters<typeof fakeReviewDeps>[0]]>([
  ["while the keys are not read", { view: resolvedKeyWith(), isCold: true }],
  ["while the watch is interrupted and the key is not known", { isFollowing: false }],
])("%s, the answer is an error, which kube-apiserver does not remember", async (_rule, seen) => {
  const deps = fakeReviewDeps(seen);
  const answer = tokenReviewHandler(deps)(posted(review), stranger);
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

test("a key that is known works while the watch is interrupted", async () => {
  const response = await tokenReviewHandler(
    fakeReviewDeps({ view: resolvedKeyWith(), isFollowing: false }),
  )(posted(review), stranger);
  expect(JSON.parse(response.body)).toMatchObject({ status: { authenticated: true } });
});

test.each<[string, unknown]>([
  ["no JSON", "canary-key-of-somebody"],
  ["another version", { ...review, apiVersion: "authentication.k8s.io/v1beta1" }],
  ["another kind", { ...review, kind: "SubjectAccessReview" }],
  ["no token", { ...review, spec: {} }],
])("%s is answered with 400, and shows nothing of what was sent", async (_rule, body) => {
  const response = await tokenReviewHandler(fakeReviewDeps({ view: resolvedKeyWith() }))(
    posted(body),
    stranger,
  );
  expect([response.status, response.body]).toEqual([
    400,
    expect.stringMatching(/^(?!.*canary).*TokenReview of authentication.k8s.io\/v1/),
  ]);
});
