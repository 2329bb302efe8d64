import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordAt, stringAt } from "../../../src/api/parse.ts";
import { connectedPolicies, policyProblem } from "../../../src/domain/gateway/connected-policy.ts";
import { policyDigest } from "../../../src/domain/policies/policy-digest.ts";
import { shippedPolicy } from "../../support/connected-policies.ts";
import { jsonChanges } from "../../support/json-changes.ts";
import { runs } from "../../support/property-runs.ts";

const fileOf = (name: string) => readFileSync(new URL(`../../../${name}`, import.meta.url), "utf8");
const version = stringAt(JSON.parse(fileOf("package.json")), "version") ?? "";
const releases = [...fileOf("CHANGELOG.md").matchAll(/^## (\d\S*)/gm)].map(([, name]) => name);

const createdAt = "2026-01-01T00:00:00Z";
const later = Date.parse(createdAt) + 10_000;

/** The fields of a validation that say why it denies a request, not which. */
const texts = ["message", "messageExpression", "reason"];
/** What an API server fills in where the manifest has nothing (Kubernetes API reference). */
const filledIn = new Map<string, unknown>([
  ["failurePolicy", "Fail"],
  ["matchConstraints.matchPolicy", "Equivalent"],
  ["matchConstraints.namespaceSelector", {}],
  ["matchConstraints.objectSelector", {}],
  ["matchConstraints.resourceRules.*.scope", "*"],
]);
/** Names and values that mean something at some place of a policy. */
const words = {
  names: [
    ...[...texts, "matchPolicy", "namespaceSelector", "objectSelector", "scope", "failurePolicy"],
    ...["excludeResourceRules", "resourceNames", "matchConditions", "variables", "paramKind"],
    ...[
      "paramRef",
      "matchResources",
      "matchLabels",
      "auditAnnotations",
      "__proto__",
      "constructor",
    ],
  ],
  values: [...filledIn.values(), "Ignore", "Exact", "never", "true", [], null, "", "Audit", "Warn"],
};

function decidesNothing(place: string, before: unknown, after: unknown): boolean {
  const [list, , field = ""] = place.split(".");
  if (list === "validations" && texts.includes(field)) return true;
  const meant = (value: unknown): string =>
    JSON.stringify(value === undefined ? filledIn.get(place) : value) ?? "";
  // An action in addition to Deny.
  const isAudit = place === "validationActions.*" && before === undefined && after === "Audit";
  return isAudit || meant(before) === meant(after);
}

/** The object with its accounts in this namespace. */
function inNamespace(object: object, namespace = "latchkey-system"): object {
  return JSON.parse(JSON.stringify(object).replaceAll("latchkey-system:", `${namespace}:`));
}

describe.each(Object.values(connectedPolicies))("$name", (expected) => {
  const { name, digests } = expected;
  const { policy, binding } = shippedPolicy(name, createdAt);
  const spec = recordAt(policy, "spec");
  const withSpec = (change: object): object => ({ ...policy, spec: { ...spec, ...change } });
  const bound = (change: object): object => ({
    ...binding,
    spec: { ...recordAt(binding, "spec"), ...change },
  });

  test("is the policy of config/connected-policies: else, add the digest of this version", () => {
    expect(policyDigest(policy)).toBe(new Map(Object.entries(digests)).get(version));
  });

  // An upgrade must not cut off clusters that have the policy of a former release.
  test("is accepted from every release", () => {
    expect(Object.keys(digests)).toEqual(expect.arrayContaining(releases));
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
    ["bound to warn", policy, bound({ validationActions: ["Warn"] }), "deny"],
    ["bound under another name", policy, bound({ policyName: "other" }), "deny"],
    [
      "bound for some namespaces",
      ...([policy, bound({ matchResources: { namespaceSelector: {} } })] as const),
      "all requests that the policy denies",
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

  const constraints = recordAt(spec, "matchConstraints");
  test("counts without its messages, and with what an API server adds", () => {
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
      const changes = fc.oneof(
        jsonChanges(spec, words).map((change) => ({ ...change, of: "policy" })),
        jsonChanges(recordAt(binding, "spec"), words).map((change) => ({
          ...change,
          of: "binding",
        })),
      );
      fc.assert(
        fc.property(changes, ({ of, place, before, after, changed }) => {
          fc.pre(!decidesNothing(place, before, after));
          const object = { ...(of === "policy" ? policy : binding), spec: changed };
          expect(of === "policy" ? count(object, binding) : count(policy, object)).toBe(false);
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
