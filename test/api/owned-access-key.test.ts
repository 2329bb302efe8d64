import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { parseOwnedAccessKey } from "../../src/api/owned-access-key.ts";

const metadata = {
  name: "k",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const nobodys = { disabled: false, ttlAfterLastActivity: false, groups: [], scope: "none" };
const plain = { user: "alice", ...nobodys };

const emptyScope = {
  roles: [],
  projects: [],
  spaces: [],
  virtualClusters: [],
  clusters: [],
  rules: [],
};

describe("an OwnedAccessKey as it is read", () => {
  test.each<[string, object, object]>([
    ["has a user", { user: "alice" }, plain],
    ["has a team", { team: "t" }, { team: "t", ...nobodys }],
    ["has a subject", { subject: "s" }, { subject: "s", ...nobodys }],
    ["has nobody when the texts are empty", { user: "", team: "" }, nobodys],
    ["may be disabled", { user: "alice", disabled: true }, { ...plain, disabled: true }],
    [
      "may have a ttl",
      { user: "alice", ttl: 0, ttlAfterLastActivity: true },
      { ...plain, ttl: 0, ttlAfterLastActivity: true },
    ],
    [
      "may have groups, and more from its login, each once",
      { user: "alice", groups: ["b", "", "a"], identity: { groups: ["c", "b"] } },
      { ...plain, groups: ["b", "a", "c"] },
    ],
    [
      "may have a scope, even an empty one",
      { user: "alice", scope: {} },
      { ...plain, scope: emptyScope },
    ],
    [
      "may have a scope that cannot be read",
      { user: "alice", scope: { projects: "web" } },
      { ...plain, scope: "unreadable" },
    ],
  ])("%s", (_rule, spec, terms) => {
    expect(parseOwnedAccessKey({ metadata, spec }).spec).toEqual(terms);
  });

  test.each<[string, object]>([
    ["absent", {}],
    ["empty", { key: "" }],
  ])("has no key when it is %s", (_rule, spec) => {
    expect(parseOwnedAccessKey({ metadata, spec }).key).toBeUndefined();
  });

  test("never shows its key, not even from last-applied", () => {
    const annotations = {
      "kubectl.kubernetes.io/last-applied-configuration": `{"spec":{"key":"canary-key"}}`,
      "management.service/requester": "alice",
    };
    const key = parseOwnedAccessKey({
      metadata: { ...metadata, annotations, labels: { a: "b" } },
      spec: { key: "canary-key" },
    });
    expect(`${inspect(key, { depth: 9, showHidden: true })}${JSON.stringify(key)}`).not.toContain(
      "canary",
    );
    expect(key.metadata).toMatchObject({
      annotations: { "management.service/requester": "alice" },
      labels: {},
    });
  });

  test("has its status as sent, and the last use beside it", () => {
    const status = { lastActivity: "2026-01-01T00:00:02Z", conditions: [], more: 1 };
    expect(parseOwnedAccessKey({ metadata, status })).toMatchObject({
      status,
      conditions: [],
      lastActivity: "2026-01-01T00:00:02Z",
    });
  });
});
