import { describe, expect, test } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { type AccessReviewResult, accessReviewHandler } from "../../src/webhooks/access-review.ts";
import {
  posted,
  fakeReviewDeps,
  anonymousClient,
  resolvedKeyWith,
} from "../support/review-fixture.ts";

const web = {
  roles: [],
  projects: ["web"],
  spaces: [],
  virtualClusters: [],
  clusters: [],
  rules: [],
};
const { uid } = resolvedKeyWith().key.metadata;

function reviewOf(
  namespace: string,
  extra: object = { "management.service/key-id": [uid] },
): object {
  const resourceAttributes = {
    verb: "get",
    version: "v1",
    resource: "secrets",
    namespace,
    name: "a",
  };
  return {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: "alice", extra, resourceAttributes },
  };
}

async function statusOf(deps: ReturnType<typeof fakeReviewDeps>, body: object): Promise<unknown> {
  const response = await accessReviewHandler(deps)(posted(body), anonymousClient);
  return recordAt(JSON.parse(response.body), "status");
}

test("leaves a request within the scope to RBAC, and records the use", async () => {
  const deps = fakeReviewDeps({ view: resolvedKeyWith({ scope: web }) });
  expect(await statusOf(deps, reviewOf("web-1"))).toEqual({ allowed: false });
  expect([deps.used, deps.results]).toEqual([[uid], ["no-opinion"]]);
});

test("leaves a request without a key to RBAC", async () => {
  const deps = fakeReviewDeps({});
  expect(await statusOf(deps, reviewOf("pay-1", {}))).toEqual({ allowed: false });
  expect([deps.used, deps.results]).toEqual([[], ["no-opinion"]]);
});

describe("denies", () => {
  test.each<[string, Parameters<typeof fakeReviewDeps>[0], object, RegExp, AccessReviewResult]>([
    [
      "a request outside the scope",
      { view: resolvedKeyWith({ scope: web }) },
      reviewOf("pay-1"),
      /does not allow get secrets a in namespace pay-1/,
      "denied",
    ],
    [
      "a request with two key ids",
      { view: resolvedKeyWith() },
      reviewOf("web-1", { "management.service/key-id": [uid, "other"] }),
      /was deleted/,
      "invalid",
    ],
    [
      "a request with an empty list of key ids",
      { view: resolvedKeyWith() },
      reviewOf("web-1", { "management.service/key-id": [] }),
      /was deleted/,
      "invalid",
    ],
    ["every request of a deleted key", {}, reviewOf("web-1"), /was deleted/, "denied"],
    [
      "every request of a disabled key",
      { view: resolvedKeyWith({ disabled: true }) },
      reviewOf("web-1"),
      /Disabled/,
      "denied",
    ],
    [
      "every request while the cache is not synced",
      { view: resolvedKeyWith(), isCold: true },
      reviewOf("web-1"),
      /access key cache not synced/,
      "not-ready",
    ],
  ])("%s", async (_rule, seen, body, reason, result) => {
    const deps = fakeReviewDeps(seen);
    expect(await statusOf(deps, body)).toEqual({
      allowed: false,
      denied: true,
      reason: expect.stringMatching(reason),
    });
    expect([deps.used, deps.results]).toEqual([[], [result]]);
  });

  test("a path outside the scope", async () => {
    const spec = {
      user: "alice",
      extra: { "management.service/key-id": [uid] },
      nonResourceAttributes: { verb: "get", path: "/metrics" },
    };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
    expect(
      await statusOf(fakeReviewDeps({ view: resolvedKeyWith({ scope: web }) }), body),
    ).toMatchObject({ denied: true });
    expect(await statusOf(fakeReviewDeps({ view: resolvedKeyWith() }), body)).toEqual({
      allowed: false,
    });
  });
});

describe("a resource that discovery does not know yet", () => {
  const reviewFor = (resource: string, group = "") => {
    const spec = {
      user: "alice",
      extra: { "management.service/key-id": [uid] },
      resourceAttributes: { verb: "list", group, resource },
    };
    return { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
  };
  const scope = {
    ...web,
    rules: [
      {
        verbs: [],
        resources: [],
        resourceNames: [],
        namespaces: [""],
        nonResourceURLs: [],
        requestTargets: [],
        cluster: "",
        virtualClusters: [],
      },
    ],
  };

  test("is looked up before a scoped key is denied", async () => {
    expect(
      await statusOf(fakeReviewDeps({ view: resolvedKeyWith({ scope }) }), reviewFor("nodes")),
    ).toEqual({ allowed: false });
  });

  test.each(["things", "__proto__", "constructor", ""])(
    "is denied if it does not exist: %j",
    async (resource) => {
      expect(
        await statusOf(
          fakeReviewDeps({ view: resolvedKeyWith({ scope }) }),
          reviewFor(resource, resource),
        ),
      ).toMatchObject({
        denied: true,
        reason: expect.stringMatching(/does not serve this resource/),
      });
    },
  );

  test("is denied while the API server does not respond", async () => {
    const deps = fakeReviewDeps({ view: resolvedKeyWith({ scope }) });
    expect(await statusOf(deps, reviewFor("broken"))).toMatchObject({
      denied: true,
      reason: expect.stringMatching(/API discovery failed/),
    });
    expect(deps.results).toEqual(["not-ready"]);
  });

  test("is not looked up for a key without a scope", async () => {
    expect(
      await statusOf(fakeReviewDeps({ view: resolvedKeyWith() }), reviewFor("broken")),
    ).toEqual({ allowed: false });
  });

  test("is denied if the key was disabled in the meantime", async () => {
    const deps = fakeReviewDeps({ view: resolvedKeyWith({ scope }) });
    const answer = statusOf(deps, reviewFor("nodes"));
    deps.accessKeys.byId = () => resolvedKeyWith({ scope, disabled: true });
    expect(await answer).toMatchObject({ denied: true, reason: expect.stringMatching(/Disabled/) });
  });
});

test.each<[string, unknown]>([
  ["invalid JSON", "x"],
  [
    "another version",
    { apiVersion: "authorization.k8s.io/v1beta1", kind: "SubjectAccessReview", spec: {} },
  ],
  [
    "no request",
    { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: { user: "alice" } },
  ],
])("responds with 400 to %s", async (_rule, body) => {
  expect(
    (await accessReviewHandler(fakeReviewDeps({}))(posted(body), anonymousClient)).status,
  ).toBe(400);
});
