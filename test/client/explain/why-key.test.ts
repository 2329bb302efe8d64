import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { parseScope, type ScopeLimit } from "../../../src/api/scope.ts";
import { type LiveKey, readLiveKey } from "../../../src/client/explain/live-keys.ts";
import { requestItems } from "../../../src/client/explain/why-key.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { born } from "../../support/observed-objects.ts";
import { resolvedKeyWith } from "../../support/review-fixture.ts";
import { fakeCluster } from "../fake-cluster.ts";

const now = born + 60_000;

function scopeOf(raw: object): ScopeLimit {
  return parseScope(raw) ?? "unreadable";
}

/** What the answer about a request says of the scope, for a user who may not read the namespace. */
async function scopeAnswer(
  scope: ScopeLimit,
  seen: Partial<LiveKey>,
  resource = "pods",
): Promise<object | undefined> {
  const live: LiveKey = {
    resolved: resolvedKeyWith({ scope }),
    roles: new Map(),
    missing: [],
    areRolesKnown: true,
    isParentHidden: false,
    ...seen,
  };
  const forbidden = { code: "Forbidden", status: 403, lacksPermission: true } as const;
  const cluster = {
    ...fakeCluster({ objects: {} }),
    send: async () => discovery,
    getMetadata: () => Promise.reject(new KubeError("GET", forbidden)),
    review: async () => ({ allowed: true }),
  };
  const asked = { verb: "get", resource, namespace: "web" };
  const { found } = await requestItems(asked, live, { cluster, now });
  return found[0];
}

const pods = { resource: "pods", responseKind: { kind: "Pod" }, scope: "Namespaced" };
const versions = [{ version: "v1", resources: [pods] }];
const discovery = { kind: "APIGroupDiscoveryList", items: [{ metadata: { name: "" }, versions }] };
const reading = { rules: [{ verbs: ["get"], resources: [{ group: "" }], namespaces: ["web"] }] };
const health = { rules: [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }] };
const role = { roles: [{ role: "deployer" }] };
const path = "/metrics";

describe("why says nothing about a scope that the user may not read", () => {
  test.each<[string, ScopeLimit, Partial<LiveKey>, string, string]>([
    ["of a parent key, without one", "none", { isParentHidden: true }, path, "created with"],
    ["of a parent key", scopeOf(reading), { isParentHidden: true }, "pods", "created with"],
    ["which names a role", scopeOf(role), { areRolesKnown: false }, path, "the ClusterRoles"],
    [
      "whose project is unknown",
      scopeOf({ projects: [{ project: "web" }] }),
      {},
      "pods",
      "the namespace",
    ],
  ])("%s", async (_what, scope, seen, resource, hidden) => {
    const answer = await scopeAnswer(scope, seen, resource);
    expect(answer).toMatchObject({ state: "unknown", reason: "ScopeUnknown", causes: [] });
    expect(answer).toHaveProperty("message", expect.stringContaining(hidden));
  });

  test.each<[string, ScopeLimit, Partial<LiveKey>, string]>([
    ["a scope that allows the request", scopeOf(reading), { areRolesKnown: false }, "ok"],
    ["no scope", "none", { areRolesKnown: false }, "ok"],
    ["a scope that denies the request", scopeOf(health), { isParentHidden: true }, "problem"],
    ["a scope without roles", scopeOf(health), { areRolesKnown: false }, "problem"],
  ])("but says what is certain of %s", async (_what, scope, seen, state) => {
    const resource = state === "ok" ? "pods" : path;
    expect(await scopeAnswer(scope, seen, resource)).toMatchObject({ state });
  });
});

test("a parent key that the user may not read is hidden, not deleted", async () => {
  const raw = {
    metadata: {
      name: "ci",
      uid: "1",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: new Date(born).toISOString(),
      annotations: { [annotations.requester]: "alice", [annotations.requesterKeyId]: "2" },
    },
    spec: { user: "alice", key: "plain-key" },
  };
  const hidden = ["ownedaccesskeys", "clusterroles", "mutatingadmissionpolicies"];
  const { config } = resolvedKeyWith();
  const live = await readLiveKey(raw, config, fakeCluster({ objects: {}, forbidden: hidden }));
  expect(live.isParentHidden).toBe(true);
  expect(live.resolved).not.toHaveProperty("parentKey");
});
