import { expect, test } from "vitest";
import {
  secretWriteRefusal,
  writesSecret,
} from "../../../src/domain/gateway/derived-credentials-policy.ts";

const request = {
  kind: "resource",
  verb: "create",
  group: "",
  resource: "secrets",
  subresource: "",
  name: "",
  namespace: "web",
} as const;

test.each([
  ["a create", {}, true],
  ["an update", { verb: "update" }, true],
  ["a patch, which may be an apply", { verb: "patch" }, true],
  ["every verb, of a review", { verb: "*" }, true],
  ["a read", { verb: "get" }, false],
  ["a deletion", { verb: "delete" }, false],
  ["a write of another resource", { resource: "configmaps" }, false],
  ["a write of Secrets of another group", { group: "example.com" }, false],
])("%s of a Secret: %j", (_what, change, expected) => {
  expect(writesSecret({ ...request, ...change })).toBe(expected);
});

test("a request for a path writes no Secret", () => {
  expect(writesSecret({ kind: "path", verb: "create", path: "/api/v1/secrets" })).toBe(false);
});

test.each([
  ["not-enforced", 403, "the fact; an administrator of the cluster must apply config/connected-p"],
  ["unreadable", 403, "the fact; an administrator of the cluster must apply config/connected-cl"],
  ["settling", 503, "the fact; retry"],
  ["unknown", 503, "the fact; retry"],
] as const)("a write of a Secret where the policy is %s gets %i", (kind, status, text) => {
  const { status: found, message } = secretWriteRefusal({ kind, fact: "the fact" });
  expect([found, message]).toEqual([status, expect.stringContaining(text)]);
});
