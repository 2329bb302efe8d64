import fc from "fast-check";
import { recordAt } from "../../src/api/parse.ts";
import { jsonChanges } from "./json-changes.ts";

/** The fields of a validation that say why it denies a request, not which. */
export const texts = ["message", "messageExpression", "reason"];
/** What an API server fills in where the manifest has nothing (Kubernetes API reference). */
const filledIn = new Map<string, unknown>([
  ["failurePolicy", "Fail"],
  ["matchConstraints.matchPolicy", "Equivalent"],
  ["matchConstraints.namespaceSelector", {}],
  ["matchConstraints.objectSelector", {}],
  ["matchConstraints.resourceRules.*.scope", "*"],
  ["matchConstraints.excludeResourceRules.*.scope", "*"],
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

/** Whether a change of one value is no difference in what a policy or binding decides. */
export function decidesNothing(place: string, before: unknown, after: unknown): boolean {
  const [list, , field = ""] = place.split(".");
  if (list === "validations" && texts.includes(field)) return true;
  const meant = (value: unknown): string =>
    JSON.stringify(value === undefined ? filledIn.get(place) : value) ?? "";
  // An action in addition to Deny.
  const isAudit = place === "validationActions.*" && before === undefined && after === "Audit";
  return isAudit || meant(before) === meant(after);
}

/**
 * Whether the central cluster may add the value, break the lines in another way, or set the prefix
 * that is empty in the manifests.
 */
export function isUnsaid(before: unknown, after: unknown): boolean {
  if (before === "''" && /^(?:'[^'\\]*'|"[^"\\]*")$/.test(String(after))) return true;
  const lines = (text: string): string =>
    text
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "")
      .join(" ");
  const meant = (value: unknown) =>
    JSON.stringify(value, (_name, inner: unknown) =>
      typeof inner === "string" ? lines(inner) : inner,
    );
  const isEmpty = ["", "{}", "[]", '""', "0", "false", "null"].includes(meant(after) ?? "");
  return (before === undefined && isEmpty) || meant(before) === meant(after);
}

/** The object with its accounts in this namespace. */
export function inNamespace(object: object, namespace = "latchkey-system"): object {
  return JSON.parse(JSON.stringify(object).replaceAll("latchkey-system:", `${namespace}:`));
}

/** A policy and its binding, of which one has one value more, less or changed, at any place. */
interface PolicyChange extends Readonly<Record<"policy" | "binding", object>> {
  readonly place: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** All such changes of the specifications of a policy and its binding. */
export function policyChanges(
  shipped: Readonly<Record<"policy" | "binding", object>>,
): fc.Arbitrary<PolicyChange> {
  const of = (which: "policy" | "binding"): fc.Arbitrary<PolicyChange> =>
    jsonChanges(recordAt(shipped[which], "spec"), words).map(({ changed, ...change }) => ({
      ...shipped,
      ...change,
      [which]: { ...shipped[which], spec: changed },
    }));
  return fc.oneof(of("policy"), of("binding"));
}
