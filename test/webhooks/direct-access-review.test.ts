import { expect, test } from "vitest";
import { recordAt } from "../../src/api/parse.ts";
import type { AccessReviewResult } from "../../src/webhooks/access-review.ts";
import { directAccessReviewHandler } from "../../src/webhooks/direct-access-review.ts";
import { fakeReviewDeps, posted, anonymousClient } from "../support/review-fixture.ts";

interface Situation {
  readonly scope?: string;
  readonly revoked?: boolean;
  readonly isKnown?: boolean;
  readonly isOurs?: boolean;
  readonly resource?: string;
  readonly ids?: readonly string[];
}

async function reviewIn(
  situation: Situation,
): Promise<{ readonly status: unknown; readonly results: readonly string[] }> {
  const { scope, revoked = false, isKnown = true, resource = "secrets" } = situation;
  const { discovery, onResult, results } = fakeReviewDeps({});
  const handler = directAccessReviewHandler({
    ...{ discovery, onResult, namespace: "latchkey-system" },
    revoked: { has: () => revoked, isKnown: () => isKnown },
    location: { target: "Cluster", cluster: "east" },
  });
  const scopes = scope === undefined ? {} : { "management.service/scope": [scope] };
  const { ids = ["uid"] } = situation;
  const extra = situation.isOurs === false ? {} : { "management.service/token-id": ids, ...scopes };
  const resourceAttributes = { verb: "get", resource, namespace: "web", name: "a" };
  const body = {
    ...{ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" },
    spec: { user: "alice", extra, resourceAttributes },
  };
  const response = await handler(posted(body), anonymousClient);
  return { status: recordAt(JSON.parse(response.body), "status"), results };
}

const east = JSON.stringify({ clusters: [{ cluster: "east" }] });
const role = JSON.stringify({ roles: [{ role: "serviceCLI" }] });
const west = JSON.stringify({ clusters: [{ cluster: "west" }] });

test.each<[string, Situation]>([
  ["without a scope", {}],
  ["within its scope", { scope: east }],
  ["within all of its scopes", { scope: `[${east},${east}]` }],
  ["of another user, though no list is known", { isOurs: false, isKnown: false }],
])("has no opinion about a request %s, and never allows it", async (_what, situation) => {
  expect(await reviewIn(situation)).toEqual({
    ...{ status: { allowed: false }, results: ["no-opinion"] },
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
  [
    "of a role, which means the management cluster",
    { scope: role, resource: "namespaces" },
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
