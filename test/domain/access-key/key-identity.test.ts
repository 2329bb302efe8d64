import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OwnedAccessKeySpec } from "../../../src/api/owned-access-key.ts";
import { identityOf } from "../../../src/domain/access-key/key-identity.ts";

const none = { user: "", team: "" };
const prefixed = { user: "sso:", team: "teams:" };

function termsOf(spec: Partial<OwnedAccessKeySpec>): OwnedAccessKeySpec {
  return { disabled: false, ttlAfterLastActivity: false, groups: [], scope: "none", ...spec };
}

describe("the identity of a key is", () => {
  test.each<[string, Partial<OwnedAccessKeySpec>, typeof none, string, readonly string[]]>([
    ["its user", { user: "alice" }, none, "alice", []],
    ["its user with the configured prefix", { user: "alice" }, prefixed, "sso:alice", []],
    [
      "its user in its groups",
      { user: "alice", groups: ["devs", "ops"] },
      prefixed,
      "sso:alice",
      ["devs", "ops"],
    ],
    [
      "its team as a user in the group of the team",
      { team: "web" },
      none,
      "management.service:team:web",
      ["web"],
    ],
    [
      "its team in the group with the configured prefix",
      { team: "web" },
      prefixed,
      "management.service:team:web",
      ["teams:web"],
    ],
    [
      "its team in its other groups, each once",
      { team: "web", groups: ["ops", "web"] },
      none,
      "management.service:team:web",
      ["ops", "web"],
    ],
    ["its subject without a prefix", { subject: "robot:7" }, prefixed, "robot:7", []],
    [
      "the user system:admin with the configured prefix",
      { user: "system:admin" },
      prefixed,
      "sso:system:admin",
      [],
    ],
  ])("%s", (_rule, spec, prefixes, username, groups) => {
    expect(identityOf(termsOf(spec), prefixes)).toEqual({ kind: "valid", username, groups });
  });
});

describe("a key has no identity", () => {
  test("if none of user, team and subject is set, with or without groups", () => {
    expect(identityOf(termsOf({ groups: ["devs"] }), none)).toMatchObject({
      kind: "invalid",
      reason: "MissingSubject",
    });
  });

  test.each<[string, Partial<OwnedAccessKeySpec>]>([
    ["user", { user: "system:admin" }],
    ["subject", { subject: "system:serviceaccount:kube-system:default" }],
    ["team", { team: "system:masters" }],
    ["group", { user: "alice", groups: ["devs", "system:masters"] }],
  ])("if its %s is reserved for Kubernetes", (_field, spec) => {
    const identity = identityOf(termsOf(spec), none);
    expect(identity).toMatchObject({ kind: "invalid", reason: "UnsupportedSubject" });
    expect(identity.kind === "invalid" && identity.message).toMatch(
      /"system:(admin|serviceaccount|masters)/,
    );
  });

  test("no identity has a name that is reserved for Kubernetes", () => {
    const name = fc.constantFrom("", "a", "system:masters", "system:x", "systemic");
    const spec = fc.record(
      { user: name, team: name, subject: name, groups: fc.array(name) },
      { requiredKeys: ["groups"] },
    );
    fc.assert(
      fc.property(spec, fc.constantFrom(none, prefixed), (fields, prefixes) => {
        const identity = identityOf(termsOf(fields), prefixes);
        return (
          identity.kind === "invalid" ||
          [identity.username, ...identity.groups].every((text) => !text.startsWith("system:"))
        );
      }),
    );
  });
});
