import { describe, expect, test } from "vitest";
import { recordAt } from "../../../src/api/parse.ts";
import {
  connectedPolicies,
  policyDigest,
  policyProblem,
} from "../../../src/domain/gateway/connected-policy.ts";
import { shippedPolicy } from "../../support/connected-policies.ts";

const createdAt = "2026-01-01T00:00:00Z";
const later = Date.parse(createdAt) + 10_000;

describe.each(Object.values(connectedPolicies))("$name", (expected) => {
  const { name, digests } = expected;
  const { policy, binding } = shippedPolicy(name, createdAt);
  const spec = recordAt(policy, "spec");
  const withSpec = (change: object): object => ({ ...policy, spec: { ...spec, ...change } });
  const bound = (change: object): object => ({
    ...binding,
    spec: { ...recordAt(binding, "spec"), ...change },
  });

  test("is the policy of config/connected-policies: else, add the digest of the new version", () => {
    expect(policyDigest(policy)).toBe(digests[0]);
  });

  test("has no line break in an expression, which kubectl reads as two where it is indented", () => {
    const expressions = [...JSON.stringify(spec).matchAll(/"expression":"((?:\\.|[^"])*)"/g)];
    expect(expressions.length).toBeGreaterThan(0);
    expect(expressions.filter(([text]) => text.includes("\\n"))).toEqual([]);
  });

  test.each<[string, object | undefined, object | undefined, string]>([
    ["there, and bound", policy, binding, ""],
    [
      "bound with more than one action",
      policy,
      bound({ validationActions: ["Audit", "Deny"] }),
      "",
    ],
    ["not there", undefined, binding, `ValidatingAdmissionPolicy "${name}" does not exist`],
    ["not bound", policy, undefined, "ValidatingAdmissionPolicyBinding"],
    ["bound to warn", policy, bound({ validationActions: ["Warn"] }), "deny"],
    ["bound under another name", policy, bound({ policyName: "other" }), "deny"],
    [
      "bound for some namespaces",
      ...([policy, bound({ matchResources: { namespaceSelector: {} } })] as const),
      "in all namespaces",
    ],
    ["one that fails open", withSpec({ failurePolicy: "Ignore" }), binding, "not that of this"],
    ["one without validations", withSpec({ validations: [] }), binding, "not that of this"],
    [
      "one that allows everything",
      withSpec({ validations: [{ expression: "true", reason: "Forbidden" }] }),
      ...([binding, "not that of this"] as const),
    ],
    [
      "one for some namespaces",
      withSpec({
        matchConstraints: {
          ...recordAt(spec, "matchConstraints"),
          namespaceSelector: { matchLabels: { guarded: "yes" } },
        },
      }),
      ...([binding, "not that of this"] as const),
    ],
    [
      "one with another condition",
      withSpec({ matchConditions: [{ name: "never", expression: "false" }] }),
      ...([binding, "not that of this"] as const),
    ],
    ["one with a parameter", withSpec({ paramKind: { kind: "ConfigMap" } }), binding, "not that"],
    ["empty", withSpec({ ...spec, matchConstraints: {}, validations: 1 }), binding, "not that"],
  ])("counts if it is there: %s", (_what, policyObject, bindingObject, text) => {
    const problem = policyProblem(
      expected,
      { policy: policyObject, binding: bindingObject },
      later,
    );
    const kind = text === "" ? undefined : "not-enforced";
    expect([problem?.kind, problem?.fact ?? ""]).toEqual([kind, expect.stringContaining(text)]);
  });

  test("has the digest that it has without its messages, and with what an API server adds", () => {
    const constraints = recordAt(spec, "matchConstraints");
    const stored = withSpec({
      failurePolicy: "Fail",
      matchConstraints: {
        ...{ matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} },
        resourceRules: Object(constraints["resourceRules"]).map((rule: object) => ({
          ...rule,
          scope: "*",
        })),
      },
      validations: Object(spec["validations"]).map(({ expression }: { expression: string }) => ({
        ...{ message: "another", expression },
      })),
    });
    expect(policyDigest(stored)).toBe(digests[0]);
  });

  test("counts later while it is younger than 10 s", () => {
    expect(policyProblem(expected, { policy, binding }, later - 1)).toMatchObject({
      kind: "settling",
    });
  });

  test.each<[string, unknown]>([
    ["text", "policy"],
    ["an empty object", {}],
    ["without a time", { ...policy, metadata: { name } }],
    ["with a time that is none", { ...policy, metadata: { name, creationTimestamp: "yesterday" } }],
    ["with a time that is no text", { ...policy, metadata: { name, creationTimestamp: 1 } }],
    ["nested without end", { ...policy, spec: nested(100_000) }],
  ])("an answer of the cluster that is no policy does not count: %s", (_what, answer) => {
    expect(policyProblem(expected, { policy: answer, binding }, Date.now())).toBeDefined();
  });
});

describe("a policy that names accounts of Latchkey", () => {
  const shipped = shippedPolicy(connectedPolicies.ownSecrets.name, createdAt);
  const inNamespace = (namespace: string) => ({
    ...shipped,
    policy: JSON.parse(
      JSON.stringify(shipped.policy).replaceAll("latchkey-system:", `${namespace}:`),
    ),
  });
  const kindOf = (own: string, installed: string) =>
    policyProblem(
      { ...connectedPolicies.ownSecrets, namespace: own },
      inNamespace(installed),
      later,
    )?.kind;

  test.each([
    ["keys", "keys", undefined],
    ["latchkey-system", "latchkey-system", undefined],
    ["keys", "latchkey-system", "not-enforced"],
    ["latchkey-system", "keys", "not-enforced"],
    ["keys", "constructor", "not-enforced"],
  ])("counts for those of its namespace: in %s, that of %s", (own, installed, kind) => {
    expect(kindOf(own, installed)).toBe(kind);
  });
});

function nested(levels: number): unknown {
  return Array.from({ length: levels }).reduce((inner) => ({ inner }), {});
}
