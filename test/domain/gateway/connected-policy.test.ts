import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordAt } from "../../../src/api/parse.ts";
import { connectedPolicies, policyProblem } from "../../../src/domain/gateway/connected-policy.ts";
import { shippedPolicy } from "../../support/connected-policies.ts";
import { decidesNothing, inNamespace, policyChanges, texts } from "../../support/policy-changes.ts";
import { runs } from "../../support/property-runs.ts";

const createdAt = "2026-01-01T00:00:00Z";
const later = Date.parse(createdAt) + 10_000;

describe.each(Object.values(connectedPolicies))("$name", (expected) => {
  const { name } = expected;
  const { policy, binding } = shippedPolicy(name, createdAt);
  const spec = recordAt(policy, "spec");
  const withSpec = (change: object): object => ({ ...policy, spec: { ...spec, ...change } });
  const bound = (change: object): object => ({
    ...binding,
    spec: { ...recordAt(binding, "spec"), ...change },
  });

  const problemOf = (policyObject: object, bindingObject: object, namespace?: string) =>
    policyProblem(
      { ...expected, ...(namespace === undefined ? {} : { namespace }) },
      { policy: policyObject, binding: bindingObject },
      later,
    );

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
    ["bound to warn", policy, bound({ validationActions: ["Warn"] }), "does not apply"],
    ["bound under another name", policy, bound({ policyName: "other" }), "does not apply"],
    [
      "bound for some namespaces",
      ...([policy, bound({ matchResources: { namespaceSelector: {} } })] as const),
      "does not apply",
    ],
    [
      "one that fails open",
      withSpec({ failurePolicy: "Ignore" }),
      binding,
      "decides something else",
    ],
    ["one without validations", withSpec({ validations: [] }), binding, "decides something else"],
    [
      "one that allows everything",
      withSpec({ validations: [{ expression: "true", reason: "Forbidden" }] }),
      ...([binding, "decides something else"] as const),
    ],
    [
      "one for some namespaces",
      withSpec({
        matchConstraints: {
          ...recordAt(spec, "matchConstraints"),
          namespaceSelector: { matchLabels: { guarded: "yes" } },
        },
      }),
      ...([binding, "decides something else"] as const),
    ],
    [
      "one with another condition",
      withSpec({ matchConditions: [{ name: "never", expression: "false" }] }),
      ...([binding, "decides something else"] as const),
    ],
    [
      "one with a parameter",
      withSpec({ paramKind: { kind: "ConfigMap" } }),
      binding,
      "decides something else",
    ],
    [
      "empty",
      withSpec({ ...spec, matchConstraints: {}, validations: 1 }),
      binding,
      "decides something else",
    ],
  ])("counts if it is there: %s", (_what, policyObject, bindingObject, text) => {
    const problem = policyProblem(
      expected,
      { policy: policyObject, binding: bindingObject },
      later,
    );
    const kind = text === "" ? undefined : "not-enforced";
    expect([problem?.kind, problem?.fact ?? ""]).toEqual([kind, expect.stringContaining(text)]);
  });

  const constraints = recordAt(spec, "matchConstraints");
  test("counts without its messages, and with what an API server adds", () => {
    const stored = withSpec({
      failurePolicy: "Fail",
      matchConstraints: {
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
        resourceRules: Object(constraints["resourceRules"]).map((rule: object) => ({
          ...rule,
          scope: "*",
        })),
      },
      validations: Object(spec["validations"]).map(({ expression }: { expression: string }) => ({
        message: "another",
        expression,
      })),
    });
    expect(problemOf(stored, binding)).toBeUndefined();
  });

  test.each(
    ["objectSelector", "namespaceSelector"].flatMap((selector) =>
      [...texts, "matchPolicy", "scope"].flatMap((label) =>
        ["never", "Equivalent", "*"].map((value) => ({ selector, label, value })),
      ),
    ),
  )("does not count with $selector $label=$value", ({ selector, label, value }) => {
    const matchConstraints = { ...constraints, [selector]: { matchLabels: { [label]: value } } };
    expect(problemOf(withSpec({ matchConstraints }), binding)?.kind).toBe("not-enforced");
  });

  test.each([undefined, "keys"])(
    "does not count with a value that is added, removed or changed, for accounts of %s",
    (namespace) => {
      const count = (one: object, other: object): boolean =>
        problemOf(inNamespace(one, namespace), inNamespace(other, namespace), namespace) ===
        undefined;
      expect(count(policy, binding)).toBe(true);
      fc.assert(
        fc.property(policyChanges({ policy, binding }), ({ place, before, after, ...changed }) => {
          fc.pre(!decidesNothing(place, before, after));
          expect(count(changed.policy, changed.binding)).toBe(false);
        }),
        runs(2_000),
      );
    },
  );

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
  const { policy, binding } = shippedPolicy(connectedPolicies.ownSecrets.name, createdAt);
  const kindOf = (own: string, installed: string) =>
    policyProblem(
      { ...connectedPolicies.ownSecrets, namespace: own },
      { policy: inNamespace(policy, installed), binding },
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
