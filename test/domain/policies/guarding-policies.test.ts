import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordAt } from "../../../src/api/parse.ts";
import {
  guardingPolicies,
  policyDifference,
} from "../../../src/domain/policies/guarding-policies.ts";
import { shippedPolicies } from "../../../src/domain/policies/shipped-policies.ts";
import { policyDigests, releases, version } from "../../house/policy-digests.ts";
import { shippedPolicy } from "../../support/connected-policies.ts";
import {
  decidesNothing,
  inNamespace,
  isUnsaid,
  policyChanges,
} from "../../support/policy-changes.ts";
import { runs } from "../../support/property-runs.ts";

const createdAt = "2026-01-01T00:00:00Z";

test("the digests are those of config: else, run npm run policy-digests", () => {
  expect(shippedPolicies).toEqual(policyDigests());
});

// An upgrade must not cut off clusters that have the policies of a former release.
test.each(guardingPolicies)("$name is accepted from every release", ({ digests }) => {
  expect([version, ...releases].filter((release) => !Object.hasOwn(digests, release))).toEqual([]);
});

/** How a policy with this change of its spec differs in the central cluster. */
function differenceOf(
  name: string,
  { spec = {}, binding = {} }: { spec?: object; binding?: object },
) {
  const expected = guardingPolicies.find((one) => one.name === name);
  if (expected === undefined) throw new Error(name);
  const shipped = shippedPolicy(name, createdAt);
  const changed = (object: object, change: object): object => ({
    ...object,
    spec: { ...recordAt(object, "spec"), ...change },
  });
  return policyDifference(
    expected,
    { policy: changed(shipped.policy, spec), binding: changed(shipped.binding, binding) },
    { isCentral: true },
  );
}

describe.each(guardingPolicies)("in the central cluster, $name", (expected) => {
  const { name } = expected;
  const { policy, binding } = shippedPolicy(name, createdAt);
  const difference = (one: object, other: object, namespace?: string) =>
    policyDifference(
      expected,
      { policy: inNamespace(one, namespace), binding: other },
      { namespace, isCentral: true },
    );

  test.each([undefined, "keys"])("is that of Latchkey in the namespace %s", (namespace) => {
    expect(difference(policy, binding, namespace)).toBeUndefined();
  });

  test("is that of Latchkey with other line breaks", () => {
    const broken: unknown = JSON.parse(JSON.stringify(policy), (_name, value: unknown) =>
      typeof value === "string" ? value.replaceAll(/\n */g, "\n\n  ") : value,
    );
    expect(difference(Object(broken), binding)).toBeUndefined();
  });

  test("is another one with a value that is added, removed or changed", () => {
    fc.assert(
      fc.property(policyChanges({ policy, binding }), ({ place, before, after, ...changed }) => {
        fc.pre(!decidesNothing(place, before, after) && !isUnsaid(before, after));
        expect(difference(changed.policy, changed.binding)).toBeDefined();
      }),
      runs(500),
    );
  });
});

const guard = "latchkey-mint-guard";
const variablesWith = (change: object): object => {
  const spec = recordAt(shippedPolicy(guard, createdAt).policy, "spec");
  const [first, ...others] = Object(spec["variables"]);
  return { variables: [{ ...first, ...change }, ...others] };
};

test.each<[string, string, object]>([
  ["a prefix of users", guard, { spec: variablesWith({ expression: "'acme:'" }) }],
  ["a prefix in other quotes", guard, { spec: variablesWith({ expression: '"acme:"' }) }],
  ["a new field that is empty", guard, { spec: { paramSelector: {}, isStrict: false } }],
  ["a new field of a binding that is empty", guard, { binding: { parameters: [] } }],
  ["the audit log in addition", guard, { binding: { validationActions: ["Audit", "Deny"] } }],
])("is no difference in the central cluster: %s", (_what, name, change) => {
  expect(differenceOf(name, change)).toBeUndefined();
});

const selecting = (label: string, value: string): object => ({
  matchConstraints: {
    ...recordAt(recordAt(shippedPolicy(guard, createdAt).policy, "spec"), "matchConstraints"),
    objectSelector: { matchLabels: { [label]: value } },
  },
});

test.each<[string, object]>([
  ["a prefix that is an expression", { spec: variablesWith({ expression: "'a' + 'b'" }) }],
  ["a prefix under another name", { spec: variablesWith({ name: "prefix" }) }],
  ["a new field that says something", { spec: { paramSelector: { a: "b" } } }],
  ["a selector of an empty label", { spec: selecting("reason", "") }],
  ["a selector of a label", { spec: selecting("reason", "never") }],
  ["a binding to some namespaces", { binding: { matchResources: { namespaceSelector: {} } } }],
  ["a binding that warns", { binding: { validationActions: ["Warn"] } }],
])("is a difference in the central cluster: %s", (_what, change) => {
  expect(differenceOf(guard, change)).toMatch(/^ValidatingAdmissionPolicy(?:Binding)? "/);
});

test.each<[string, boolean, boolean, string | undefined]>([
  [guard, false, true, 'ValidatingAdmissionPolicy "latchkey-mint-guard" does not exist'],
  [guard, true, false, 'ValidatingAdmissionPolicyBinding "latchkey-mint-guard" does not exist'],
  // Before Kubernetes 1.36, a webhook does its work.
  ["latchkey-requester-annotations", false, false, undefined],
  [
    "latchkey-requester-annotations",
    true,
    false,
    'MutatingAdmissionPolicyBinding "latchkey-requester-annotations" does not exist',
  ],
])("of %s, policy %s, binding %s: %s", (name, hasPolicy, hasBinding, expected) => {
  const found = guardingPolicies.find((one) => one.name === name) ?? { name, digests: {} };
  const { policy, binding } = shippedPolicy(name, createdAt);
  const observed = {
    policy: hasPolicy ? policy : undefined,
    binding: hasBinding ? binding : undefined,
  };
  expect(policyDifference(found, observed, { isCentral: true })).toBe(expected);
});
