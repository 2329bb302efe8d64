import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { parseOwnedAccessKey } from "../../src/api/owned-access-key.ts";
import { emptyScope } from "../support/empty-scope.ts";

const metadata = {
  name: "k",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};
const withoutUser = { disabled: false, ttlAfterLastActivity: false, groups: [], scope: "none" };
const plain = { user: "alice", ...withoutUser };

describe("parseOwnedAccessKey", () => {
  test.each<[string, object, object]>([
    ["returns the user", { user: "alice" }, plain],
    ["returns the team", { team: "t" }, { team: "t", ...withoutUser }],
    ["returns the subject", { subject: "s" }, { subject: "s", ...withoutUser }],
    ["omits an empty user and team", { user: "", team: "" }, withoutUser],
    ["returns disabled", { user: "alice", disabled: true }, { ...plain, disabled: true }],
    [
      "returns the ttl",
      { user: "alice", ttl: 0, ttlAfterLastActivity: true },
      { ...plain, ttl: 0, ttlAfterLastActivity: true },
    ],
    [
      "returns the groups of spec and identity without duplicates",
      { user: "alice", groups: ["b", "", "a"], identity: { groups: ["c", "b"] } },
      { ...plain, groups: ["b", "a", "c"] },
    ],
    ["keeps an empty scope", { user: "alice", scope: {} }, { ...plain, scope: emptyScope }],
    [
      "reports an invalid scope as unreadable",
      { user: "alice", scope: { projects: "web" } },
      { ...plain, scope: "unreadable" },
    ],
  ])("%s", (_rule, spec, terms) => {
    expect(parseOwnedAccessKey({ metadata, spec }).spec).toEqual(terms);
  });

  test.each<[string, object]>([
    ["absent", {}],
    ["empty", { key: "" }],
  ])("returns no key if it is %s", (_rule, spec) => {
    expect(parseOwnedAccessKey({ metadata, spec }).key).toBeUndefined();
  });

  test("never prints the key, and drops the last-applied-configuration annotation", () => {
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

  test("returns the status as sent, and lastActivity", () => {
    const status = { lastActivity: "2026-01-01T00:00:02Z", conditions: [], more: 1 };
    expect(parseOwnedAccessKey({ metadata, status })).toMatchObject({
      status,
      conditions: [],
      lastActivity: "2026-01-01T00:00:02Z",
    });
  });
});
