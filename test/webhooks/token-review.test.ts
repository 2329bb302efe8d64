import { describe, expect, test } from "vitest";
import { tokenReviewHandler } from "../../src/webhooks/token-review.ts";
import { posted, reviewing, stranger, viewWith } from "../support/review-fixture.ts";

const review = {
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenReview",
  spec: { token: "canary-key-of-somebody" },
};

test("a key that works says who it is, and its use is noted", async () => {
  const deps = reviewing({ view: viewWith({ groups: ["devs"] }) });
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
  test.each<[string, Parameters<typeof reviewing>[0], string]>([
    ["garbage", { found: "garbage" }, "garbage"],
    ["a key that nobody has", {}, "unknown"],
    ["a disabled key", { view: viewWith({ disabled: true }) }, "refused"],
    ["a key that ended", { view: viewWith({ ttl: 1 }) }, "refused"],
  ])("by %s", async (_rule, seen, result) => {
    const deps = reviewing(seen);
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
  const sharing = [viewWith().key];
  const deps = reviewing({ sharing });
  const answer = tokenReviewHandler(deps)(posted(review), stranger);
  await deps.clock.run(100);
  await answer;
  expect(deps.mismatched).toEqual([viewWith().key.metadata.uid]);
  for (const found of ["garbage", viewWith({ disabled: true }), viewWith()] as const) {
    const other = reviewing({ sharing, found });
    await tokenReviewHandler(other)(posted(review), stranger);
    expect(other.mismatched).toEqual([]);
  }
});

test("a key that was made a moment ago is waited for", async () => {
  const deps = reviewing({});
  const answer = tokenReviewHandler(deps)(posted(review), stranger);
  await deps.clock.run(50);
  deps.standing.found = viewWith();
  await deps.clock.run(50);
  expect(JSON.parse((await answer).body)).toMatchObject({ status: { authenticated: true } });
});

test.each<[string, Parameters<typeof reviewing>[0]]>([
  ["while the keys are not read", { view: viewWith(), isCold: true }],
  ["while the watch is interrupted and the key is not known", { isFollowing: false }],
])("%s, the answer is an error, which kube-apiserver does not remember", async (_rule, seen) => {
  const deps = reviewing(seen);
  const answer = tokenReviewHandler(deps)(posted(review), stranger);
  await deps.clock.run(100);
  const response = await answer;
  expect([response.status, JSON.parse(response.body)]).toEqual([
    200,
    expect.objectContaining({
      status: {
        authenticated: false,
        error: expect.stringContaining("access key cache is not synced"),
      },
    }),
  ]);
  expect(deps.results).toEqual(["not-ready"]);
});

test("a key that is known works while the watch is interrupted", async () => {
  const response = await tokenReviewHandler(reviewing({ view: viewWith(), isFollowing: false }))(
    posted(review),
    stranger,
  );
  expect(JSON.parse(response.body)).toMatchObject({ status: { authenticated: true } });
});

test.each<[string, unknown]>([
  ["no JSON", "canary-key-of-somebody"],
  ["another version", { ...review, apiVersion: "authentication.k8s.io/v1beta1" }],
  ["another kind", { ...review, kind: "SubjectAccessReview" }],
  ["no token", { ...review, spec: {} }],
])("%s is answered with 400, and shows nothing of what was sent", async (_rule, body) => {
  const response = await tokenReviewHandler(reviewing({ view: viewWith() }))(
    posted(body),
    stranger,
  );
  expect([response.status, response.body]).toEqual([
    400,
    expect.stringMatching(/^(?!.*canary).*TokenReview of authentication.k8s.io\/v1/),
  ]);
});
