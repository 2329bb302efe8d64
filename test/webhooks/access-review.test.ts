import { describe, expect, test } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import { oneLocation } from "../../src/authn/request-locations.ts";
import { emptyScope } from "../support/empty-scope.ts";
import {
  type AccessReviewResult,
  accessReviewHandler,
  directAccessReviewHandler,
} from "../../src/webhooks/access-review.ts";
import {
  posted,
  fakeReviewDeps,
  anonymousClient,
  resolvedKeyWith,
} from "../support/review-fixture.ts";

const web = { ...emptyScope, projects: ["web"] };
const { uid } = resolvedKeyWith().key.metadata;

const keyId = "management.service/key-id";
const ofKey = { [keyId]: [uid] };
const head = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" };

function reviewOf(namespace: string, extra: object = ofKey): object {
  const what = { verb: "get", version: "v1", resource: "secrets", namespace, name: "a" };
  return { ...head, spec: { user: "alice", extra, resourceAttributes: what } };
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

const key = (spec?: Parameters<typeof resolvedKeyWith>[0]) => ({ view: resolvedKeyWith(spec) });
const inWeb = reviewOf("web-1");
const gone = /was deleted/;
const [twoIds, noId] = [{ [keyId]: [uid, "other"] }, { [keyId]: [] }];

describe("denies", () => {
  test.each<[string, Parameters<typeof fakeReviewDeps>[0], object, RegExp, AccessReviewResult]>([
    [
      "a request outside the scope",
      key({ scope: web }),
      reviewOf("pay-1"),
      /does not allow get secrets a in namespace pay-1/,
      "denied",
    ],
    ["a request with two key ids", key(), reviewOf("web-1", twoIds), gone, "invalid"],
    ["a request with an empty list of key ids", key(), reviewOf("web-1", noId), gone, "invalid"],
    ["every request of a deleted key", {}, inWeb, gone, "denied"],
    ["every request of a disabled key", key({ disabled: true }), inWeb, /Disabled/, "denied"],
    [
      "every request while the cache is not synced",
      { ...key(), isCold: true },
      inWeb,
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
    const nonResourceAttributes = { verb: "get", path: "/metrics" };
    const body = { ...head, spec: { user: "alice", extra: ofKey, nonResourceAttributes } };
    const scoped = fakeReviewDeps(key({ scope: web }));
    expect(await statusOf(scoped, body)).toMatchObject({ denied: true });
    expect(await statusOf(fakeReviewDeps(key()), body)).toEqual({ allowed: false });
  });
});

describe("a resource that discovery does not know yet", () => {
  const reviewFor = (resource: string, group = "") => ({
    ...head,
    spec: { user: "alice", extra: ofKey, resourceAttributes: { verb: "list", group, resource } },
  });
  const rule = {
    verbs: [],
    resources: [],
    resourceNames: [],
    namespaces: [""],
    nonResourceURLs: [],
    requestTargets: [],
    cluster: "",
    virtualClusters: [],
  };
  const scope = { ...web, rules: [rule] };

  test("is looked up before a scoped key is denied", async () => {
    const deps = fakeReviewDeps(key({ scope }));
    expect(await statusOf(deps, reviewFor("nodes"))).toEqual({ allowed: false });
  });

  test.each(["things", "__proto__", "constructor", ""])(
    "is denied if it does not exist: %j",
    async (resource) => {
      const deps = fakeReviewDeps(key({ scope }));
      expect(await statusOf(deps, reviewFor(resource, resource))).toMatchObject({
        denied: true,
        reason: expect.stringMatching(/does not serve this resource/),
      });
    },
  );

  test("is denied while the API server does not respond", async () => {
    const deps = fakeReviewDeps(key({ scope }));
    expect(await statusOf(deps, reviewFor("broken"))).toMatchObject({
      denied: true,
      reason: expect.stringMatching(/API discovery failed/),
    });
    expect(deps.results).toEqual(["not-ready"]);
  });

  test("is not looked up for a key without a scope", async () => {
    const deps = fakeReviewDeps(key());
    expect(await statusOf(deps, reviewFor("broken"))).toEqual({ allowed: false });
  });

  test("is denied if the key was disabled in the meantime", async () => {
    const deps = fakeReviewDeps(key({ scope }));
    const answer = statusOf(deps, reviewFor("nodes"));
    deps.accessKeys.byId = () => resolvedKeyWith({ scope, disabled: true });
    expect(await answer).toMatchObject({ denied: true, reason: expect.stringMatching(/Disabled/) });
  });
});

test.each<[string, unknown]>([
  ["invalid JSON", "x"],
  ["another version", { ...head, apiVersion: "authorization.k8s.io/v1beta1", spec: {} }],
  ["no request", { ...head, spec: { user: "alice" } }],
])("responds with 400 to %s", async (_rule, body) => {
  expect(
    (await accessReviewHandler(fakeReviewDeps({}))(posted(body), anonymousClient)).status,
  ).toBe(400);
});

interface Situation {
  readonly scope?: string;
  readonly revoked?: boolean;
  readonly isKnown?: boolean;
  readonly isOurs?: boolean;
  readonly resource?: string;
  readonly ids?: readonly string[];
  readonly isInProject?: boolean;
}

async function reviewIn(
  situation: Situation,
): Promise<{ readonly status: unknown; readonly results: readonly string[] }> {
  const { scope, revoked = false, isKnown = true, resource = "secrets" } = situation;
  const { isInProject = false } = situation;
  const { discovery, onResult, results } = fakeReviewDeps({});
  const handler = directAccessReviewHandler({
    discovery,
    onResult,
    namespace: "latchkey-system",
    revoked: { has: () => revoked, isKnown: () => isKnown },
    roles: { current: () => roles },
    locations: oneLocation({
      target: "Cluster",
      cluster: "east",
      ...(isInProject && { project: "web" }),
    }),
  });
  const scopes = scope === undefined ? {} : { "management.service/scope": [scope] };
  const { ids = ["uid"] } = situation;
  const extra = situation.isOurs === false ? {} : { "management.service/token-id": ids, ...scopes };
  const resourceAttributes = { verb: "get", resource, namespace: "web", name: "a" };
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: "alice", extra, resourceAttributes },
  };
  const response = await handler(posted(body), anonymousClient);
  return { status: recordAt(JSON.parse(response.body), "status"), results };
}

const viewer = JSON.stringify({ roles: [{ role: "viewer" }] });
const roles = new Map([
  [
    "viewer",
    [
      {
        apiGroups: [""],
        resources: ["secrets"],
        verbs: ["get"],
        resourceNames: [],
        nonResourceURLs: [],
      },
    ],
  ],
]);
const east = JSON.stringify({ clusters: [{ cluster: "east" }] });
const role = JSON.stringify({ roles: [{ role: "serviceCLI" }] });
const west = JSON.stringify({ clusters: [{ cluster: "west" }] });

test.each<[string, Situation]>([
  ["without a scope", {}],
  ["within its scope", { scope: east }],
  ["within all of its scopes", { scope: `[${east},${east}]` }],
  ["for what a role permits in a project", { scope: viewer, isInProject: true }],
  ["of another user, though no list is known", { isOurs: false, isKnown: false }],
])("has no opinion about a request %s, and never allows it", async (_what, situation) => {
  expect(await reviewIn(situation)).toEqual({
    status: { allowed: false },
    results: ["no-opinion"],
  });
});

test.each<[string, Situation, string, AccessReviewResult]>([
  ["of a revoked token", { revoked: true }, "the token was revoked", "denied"],
  [
    "while no list is known",
    { isKnown: false },
    "list of revoked tokens is not known",
    "not-ready",
  ],
  ["beyond its scope", { scope: west }, "does not allow get secrets a in namespace web", "denied"],
  [
    "beyond one of its scopes",
    { scope: `[${east},${west}]` },
    "does not allow get secrets",
    "denied",
  ],
  ["with a scope that is not JSON", { scope: "{" }, "the scope is invalid", "invalid"],
  ["with an empty list of scopes", { scope: "[]" }, "the scope is invalid", "invalid"],
  ["with an unknown limit", { scope: '{"limits":[]}' }, "the scope is invalid", "invalid"],
  ["of a role outside of projects", { scope: role, resource: "namespaces" }, "get", "denied"],
  [
    "of a role that is not known",
    { scope: JSON.stringify({ roles: [{ role: "editor" }] }), isInProject: true },
    "get",
    "denied",
  ],
  ["with two ids", { ids: ["uid", "other"] }, "not exactly one value of the extra", "invalid"],
  ["without an id", { ids: [""] }, "not exactly one value of the extra", "invalid"],
  ["of a revoked token with a scope", { scope: east, revoked: true }, "was revoked", "denied"],
])("denies a request %s, and counts why", async (_what, situation, reason, result) => {
  expect(await reviewIn(situation)).toEqual({
    status: { allowed: false, denied: true, reason: expect.stringContaining(reason) },
    results: [result],
  });
});
