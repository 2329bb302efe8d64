import { expect, test } from "vitest";
import {
  policyProblem,
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

const name = "latchkey-derived-credentials";
const createdAt = "2026-01-01T00:00:00Z";
const metadata = { name, uid: "u", resourceVersion: "1", creationTimestamp: createdAt };
const policy = { metadata, spec: {} };
const enforced = { policyName: name, validationActions: ["Deny"] };
const bound = (spec: object) => ({ metadata, spec });

test.each<[string, object | undefined, object | undefined, number | undefined, string]>([
  ["there, and bound", policy, bound(enforced), undefined, ""],
  [
    "there, bound with more than one action",
    policy,
    bound({ ...enforced, validationActions: ["Audit", "Deny"] }),
    ...([undefined, ""] as const),
  ],
  ["not there", undefined, bound(enforced), 403, 'ValidatingAdmissionPolicy "latchkey-derived'],
  ["not bound", policy, undefined, 403, "ValidatingAdmissionPolicyBinding"],
  ["bound to warn", policy, bound({ ...enforced, validationActions: ["Warn"] }), 403, "deny"],
  ["bound under another name", policy, bound({ ...enforced, policyName: "other" }), 403, "deny"],
  [
    "bound for some namespaces",
    ...([policy, bound({ ...enforced, matchResources: { namespaceSelector: {} } })] as const),
    ...([403, "in all namespaces"] as const),
  ],
])("a policy that is %s", (_what, policyObject, binding, status, text) => {
  const now = Date.parse(createdAt) + 10_000;
  const problem = policyProblem({ policy: policyObject, binding }, now);
  expect([problem?.status, problem?.message ?? ""]).toEqual([
    status,
    expect.stringContaining(text),
  ]);
  const saysFix = problem?.message.includes("config/connected-policies") ?? false;
  expect(saysFix).toBe(status === 403);
});

test("a policy that is younger than 10 s counts later", () => {
  const now = Date.parse(createdAt) + 9_999;
  expect(policyProblem({ policy, binding: bound(enforced) }, now)).toMatchObject({ status: 503 });
});

test.each<[string, unknown]>([
  ["text", "policy"],
  ["an empty object", {}],
  ["without a time", { metadata: { name } }],
  ["with a time that is none", { metadata: { ...metadata, creationTimestamp: "yesterday" } }],
  ["with a time that is no text", { metadata: { ...metadata, creationTimestamp: 1 } }],
])("an answer of the cluster that is no policy does not count: %s", (_what, answer) => {
  const observed = { policy: answer, binding: bound(enforced) };
  expect(policyProblem(observed, Date.now())).toMatchObject({ status: 503 });
});
