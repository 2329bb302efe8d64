import { describe, expect, test } from "vitest";
import { authenticate } from "../../../src/domain/access-key/authenticate.ts";
import type { ResolvedKey } from "../../../src/domain/access-key/key-state.ts";
import { emptyScope } from "../../support/empty-scope.ts";
import { type KeyChanges, resolvedKey } from "./resolved-key.ts";
import { born, observedMetadata } from "../../support/observed-objects.ts";

function viewOf(spec: KeyChanges["spec"] = {}, changes: KeyChanges = {}): ResolvedKey {
  return resolvedKey({ spec: { groups: ["devs"], ...spec }, ...changes });
}

function scopeHashOf(view: ResolvedKey): string | undefined {
  const authentication = authenticate(view, born);
  return authentication.kind === "authenticated"
    ? authentication.user.extra["management.service/scope-hash"]?.[0]
    : undefined;
}

test("authenticates a valid key as its user, with the uid of the key as an extra", () => {
  expect(authenticate(viewOf(), born)).toEqual({
    kind: "authenticated",
    user: {
      username: "alice",
      groups: ["devs"],
      extra: {
        "management.service/key-id": [observedMetadata().uid],
        "management.service/scope-hash": [expect.stringMatching(/^[0-9a-f]{16}$/)],
        "management.service/credential-id": [observedMetadata().uid],
      },
    },
  });
});

test("sets another extra for another scope, so that cached decisions do not apply", () => {
  const scopes = [
    "none",
    emptyScope,
    { ...emptyScope, projects: ["web"] },
    { ...emptyScope, projects: ["pay"] },
  ] as const;
  const hashes = scopes.map((scope) => scopeHashOf(viewOf({ scope })));
  expect(hashes).not.toContain(undefined);
  expect(new Set(hashes).size).toBe(scopes.length);
});

describe("rejects a key", () => {
  test.each<[string, ResolvedKey, number, string]>([
    ["that is disabled", viewOf({ disabled: true }), born, "Disabled"],
    ["at its expiry", viewOf({ ttl: 60 }), born + 60_000, "Expired"],
    [
      "at the end of the maximum lifetime",
      viewOf(
        {},
        {
          config: {
            maximumKeyTtl: 60,
            namespace: "latchkey-system",
            prefixes: { user: "", team: "" },
          },
        },
      ),
      born + 60_000,
      "Expired",
    ],
    [
      "at the end of its idle ttl",
      viewOf(
        { ttl: 60, ttlAfterLastActivity: true },
        { key: { lastActivity: new Date(born + 5_000).toISOString() } },
      ),
      born + 65_000,
      "Expired",
    ],
    [
      "that is being deleted",
      viewOf(
        {},
        { key: { metadata: { ...observedMetadata(), deletionTimestamp: "2026-01-01T00:00:00Z" } } },
      ),
      born,
      "Deleted",
    ],
    [
      "whose requester is unknown",
      viewOf({}, { requester: { kind: "unknown", why: "x" } }),
      born,
      "UnknownRequester",
    ],
    [
      "that an older object has",
      viewOf({}, { duplicate: { kind: "duplicate", by: "older" } }),
      born,
      "DuplicateKey",
    ],
    [
      "beyond the limit of one index",
      viewOf({}, { duplicate: { kind: "over-limit" } }),
      born,
      "DuplicateKey",
    ],
    ["without a subject", viewOf({}, { owner: {} }), born, "MissingSubject"],
    [
      "in a group that is reserved for Kubernetes",
      viewOf({ groups: ["system:masters"] }),
      born,
      "UnsupportedSubject",
    ],
    ["whose scope is invalid", viewOf({ scope: "unreadable" }), born, "InvalidScope"],
    ["whose parent key is gone", viewOf({}, { parentKey: "gone" }), born, "ParentKeyInvalid"],
    [
      "whose parent key is disabled",
      viewOf({}, { parentKey: viewOf({ disabled: true }) }),
      born,
      "ParentKeyInvalid",
    ],
    [
      "whose parent key is being deleted",
      viewOf(
        {},
        {
          parentKey: viewOf(
            {},
            {
              key: {
                metadata: { ...observedMetadata(), deletionTimestamp: "2026-01-01T00:00:00Z" },
              },
            },
          ),
        },
      ),
      born,
      "ParentKeyInvalid",
    ],
    [
      "at the expiry of its parent key",
      viewOf({}, { parentKey: viewOf({ ttl: 60 }) }),
      born + 60_000,
      "ParentKeyInvalid",
    ],
    [
      "at the expiry of the parent of its parent key",
      viewOf({}, { parentKey: viewOf({}, { parentKey: viewOf({ ttl: 60 }) }) }),
      born + 60_000,
      "ParentKeyInvalid",
    ],
  ])("%s", (_rule, view, now, reason) => {
    expect(authenticate(view, now)).toEqual({ kind: "refused", reason });
  });

  test("accepts a key one millisecond before the expiry of its parent key", () => {
    const view = viewOf({}, { parentKey: viewOf({}, { parentKey: viewOf({ ttl: 60 }) }) });
    expect(authenticate(view, born + 59_999).kind).toBe("authenticated");
  });

  test("accepts a key one millisecond before its expiry", () => {
    expect(authenticate(viewOf({ ttl: 60 }), born + 59_999).kind).toBe("authenticated");
  });
});
