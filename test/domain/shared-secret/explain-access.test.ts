import { expect, test } from "vitest";
import { parseSharedSecret } from "../../../src/api/shared-secret.ts";
import { explainAccess } from "../../../src/domain/shared-secret/explain-access.ts";

function explained(spec: object) {
  const metadata = { namespace: "team", name: "db", uid: "u", resourceVersion: "1" };
  const raw = { metadata: { ...metadata, creationTimestamp: "2026-01-01T00:00:00Z" }, spec };
  return explainAccess(parseSharedSecret(raw), { user: "", team: "" });
}

test.for<[string, object, string, string]>([
  ["verb", { verbs: ["create"], users: ["bob"] }, "InvalidAccessRule", "spec.access[0].verbs[0]"],
  ["user", { verbs: ["get"], users: [""] }, "InvalidAccessRule", "spec.access[0].users[0]"],
  ["nobody", { verbs: ["get"] }, "EmptyAccessRule", "spec.access[0]"],
  ["nobody", { name: "a rule", verbs: ["get"] }, "EmptyAccessRule", "spec.access[0]"],
])("a rule that grants nothing is named by its field: %s", ([, rule, reason, field]) => {
  expect(explained({ access: [rule] })).toMatchObject([
    {
      ...{ state: reason === "EmptyAccessRule" ? "info" : "problem", reason },
      causes: [{ object: { namespace: "team", name: "db" }, field }],
    },
  ]);
});

test("a rule that grants is not mentioned", () => {
  expect(explained({ access: [{ verbs: ["get"], users: ["bob"] }] })).toEqual([]);
});
