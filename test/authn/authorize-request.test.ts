import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../src/api/access-review.ts";
import type { Scope } from "../../src/api/scope.ts";
import { authorizeKey, authorizeNow, notSyncedMessage } from "../../src/authn/authorize-request.ts";
import { groupUnavailable } from "../../src/kube/client/discovery.ts";
import { KubeError } from "../../src/kube/client/kube-error.ts";
import { fakeReviewDeps, resolvedKeyWith } from "../support/review-fixture.ts";
import { unansweredDiscovery } from "../support/unanswered-discovery.ts";

const rule = {
  verbs: ["get"],
  resources: [{ group: "", resources: ["secrets", "broken"] }],
  resourceNames: [],
  namespaces: [],
  nonResourceURLs: [],
  requestTargets: [],
  cluster: "",
  virtualClusters: [],
};
const scope: Scope = {
  roles: [],
  projects: [],
  spaces: [],
  virtualClusters: [],
  clusters: [],
  rules: [rule],
};

const reading = (resource: string, changes: object = {}): ReviewedRequest => ({
  kind: "resource",
  verb: "get",
  group: "",
  resource,
  subresource: "",
  namespace: "web-1",
  name: "a",
  ...changes,
});

const scoped = resolvedKeyWith({ scope });

describe("a request with a key", () => {
  it.each<[string, Parameters<typeof fakeReviewDeps>[0], ReviewedRequest, object]>([
    [
      "without a scope is left to RBAC",
      { view: resolvedKeyWith() },
      reading("x"),
      { kind: "no-opinion" },
    ],
    [
      "within its scope is left to RBAC",
      { view: scoped },
      reading("secrets"),
      { kind: "no-opinion" },
    ],
    [
      "outside of its scope is denied",
      { view: scoped },
      reading("secrets", { verb: "delete" }),
      { kind: "denied" },
    ],
    [
      "whose object was deleted is denied",
      {},
      reading("secrets"),
      { kind: "denied", reason: "the access key of this request was deleted" },
    ],
    [
      "that is disabled is denied",
      { view: resolvedKeyWith({ disabled: true }) },
      reading("secrets"),
      { kind: "denied", reason: expect.stringContaining("not valid") },
    ],
    [
      "is not decided while the cache is not synced",
      { view: scoped, isCold: true },
      reading("secrets"),
      { kind: "not-ready", reason: notSyncedMessage },
    ],
    [
      "is not decided while discovery fails",
      { view: scoped },
      reading("broken"),
      { kind: "not-ready", reason: "API discovery failed; retry" },
    ],
  ])("%s", async (_what, seen, request, decision) => {
    expect(await authorizeKey("uid-one", request, fakeReviewDeps(seen))).toMatchObject(decision);
  });

  it("is decided with the key as it is when discovery has answered", async () => {
    const deps = fakeReviewDeps({ view: scoped });
    let now = scoped;
    const accessKeys = { ...deps.accessKeys, byId: () => now };
    const decision = authorizeKey("uid-one", reading("nodes"), { ...deps, accessKeys });
    now = resolvedKeyWith({ scope, disabled: true });
    expect(await decision).toMatchObject({ kind: "denied", resolved: now });
  });

  it("is not decided while the API server of its group does not answer", async () => {
    const explanation = "the API server of the group x does not answer; retry";
    const details = { code: "ServerError", status: 503, reason: groupUnavailable } as const;
    const discovery = {
      known: () => undefined,
      find: () => Promise.reject(new KubeError("x", { ...details, explanation })),
    };
    const deps = { ...fakeReviewDeps({ view: scoped }), discovery };
    expect(await authorizeKey("uid-one", reading("widgets"), deps)).toEqual({
      kind: "not-ready",
      reason: explanation,
    });
  });

  it("of a client that leaves waits for discovery no longer", async () => {
    const [leaving, left] = [new AbortController(), new Error("the client left")];
    const deps = { ...fakeReviewDeps({ view: scoped }), left: leaving };
    const discovery = unansweredDiscovery();
    const decision = authorizeKey("uid-one", reading("nodes"), { ...deps, discovery });
    leaving.abort(left);
    await expect(decision).rejects.toBe(left);
    expect(discovery.waiting()).toBe(0);
  });

  it("is not decided if the cache is out of date when discovery has answered", async () => {
    const deps = fakeReviewDeps({ view: scoped });
    let isFresh = true;
    const accessKeys = { ...deps.accessKeys, isFresh: () => isFresh };
    const decision = authorizeKey("uid-one", reading("nodes"), { ...deps, accessKeys });
    isFresh = false;
    expect(await decision).toEqual({ kind: "not-ready", reason: notSyncedMessage });
  });
});

describe("a request that is decided at once", () => {
  it.each<[string, Parameters<typeof fakeReviewDeps>[0], string, string]>([
    ["within its scope is left to RBAC", { view: scoped }, "secrets", "no-opinion"],
    ["waits for no discovery: an unknown resource is none", { view: scoped }, "broken", "denied"],
    [
      "is denied with a disabled key",
      { view: resolvedKeyWith({ disabled: true }) },
      "secrets",
      "denied",
    ],
    ["is denied without a key", {}, "secrets", "denied"],
    ["is not decided by an old cache", { view: scoped, isCold: true }, "secrets", "not-ready"],
  ])("%s", (_what, seen, resource, kind) => {
    expect(authorizeNow("uid-one", reading(resource), fakeReviewDeps(seen)).kind).toBe(kind);
  });
});
