import fc from "fast-check";
import { isRecord, listAt } from "../../../src/api/parse.ts";
import { anyRule, anyScope } from "./arbitraries.ts";

/**
 * Scopes that can only be narrower: without an entry, with a restriction of a rule that had none,
 * or with a shorter list. A name is not added where only a rule with the name covers a request,
 * because it would not restrict.
 */
export function narrower(
  scope: Readonly<Record<string, unknown>>,
  mustBeNamed: boolean,
): readonly Readonly<Record<string, unknown>>[] {
  return Object.keys(scope).flatMap((field) => {
    if (field === "allowServiceCli") return [{ ...scope, [field]: false }];
    const entries = listAt(scope, field);
    const without = entries.map((_, index) => ({
      ...scope,
      [field]: entries.filter((_entry, other) => other !== index),
    }));
    const restricted =
      field !== "rules" && field !== "roles"
        ? []
        : entries.flatMap((entry, index) =>
            restrictions(entry, field, mustBeNamed).map((less) => ({
              ...scope,
              [field]: entries.with(index, less),
            })),
          );
    return [...without, ...restricted];
  });
}

const additions = {
  rules: {
    verbs: "get",
    requestTargets: "Cluster",
    namespaces: "ns",
    resources: { group: "", resources: ["pods"] },
    virtualClusters: { name: "vc" },
  },
  roles: { projects: "web", virtualClusters: "vc" },
} as const;

function restrictions(
  entry: unknown,
  kind: "rules" | "roles",
  mustBeNamed: boolean,
): readonly unknown[] {
  if (!isRecord(entry)) return [];
  return Object.entries(additions[kind]).flatMap(([field, addition]) => {
    const values = listAt(entry, field);
    // A rule with only paths that lists a resource also covers resources, so it would be wider.
    const widens =
      kind === "rules" &&
      (field === "resources" || field === "namespaces") &&
      listAt(entry, "nonResourceURLs").length > 0;
    const names = mustBeNamed && (field === "resources" || field === "verbs");
    if (values.length === 0) return widens || names ? [] : [{ ...entry, [field]: [addition] }];
    return values.length === 1
      ? []
      : values.map((_, index) => ({
          ...entry,
          [field]: values.filter((_value, other) => other !== index),
        }));
  });
}

/** A scope, and the result of some narrowing steps, of which one in four does nothing. */
export const anyPair = fc
  .tuple(anyScope, fc.array(fc.nat(), { maxLength: 4 }), fc.option(anyRule, { freq: 1 }))
  .map(([parent, choices, rule]) => {
    let child: Readonly<Record<string, unknown>> = parent;
    for (const choice of choices) {
      const steps = narrower(child, false);
      child = steps[choice % Math.max(1, steps.length)] ?? child;
    }
    return [rule === null ? child : { ...child, rules: [rule] }, parent] as const;
  });
