import type { ResourceScope } from "../../api/discovery.ts";
import { labels } from "../../api/names.ts";
import type { ScopeLimit, ScopeResources, ScopeRule } from "../../api/scope.ts";
import { authorizationOnlyScope } from "./authorization-only.ts";
import { unknownRoles } from "./scope-roles.ts";

/** Lookups to check the entries of a scope. */
interface ScopeVocabulary {
  readonly isDefined: (role: string) => boolean;
  /** The scope of a resource; undefined if the API server does not serve it. */
  readonly scopeOf: (
    group: string,
    resource: string,
  ) => Exclude<ResourceScope, "Unknown"> | undefined;
}

const mostWarnings = 5;

/** Warnings about entries of a scope that currently cover nothing. */
export function scopeWarnings(
  limit: ScopeLimit,
  { isDefined, scopeOf }: ScopeVocabulary,
): readonly string[] {
  if (typeof limit === "string") return [];
  const roles = unknownRoles(limit, isDefined).map(
    (role) =>
      `spec.scope.roles: ${JSON.stringify(role)} does not exist and covers nothing until a ` +
      `ClusterRole has the label ${labels.scopeRole} with this value`,
  );
  const rules = limit.rules.flatMap((rule, index) =>
    rule.resources.flatMap((entry) =>
      entryWarnings(rule, entry, scopeOf).map(
        (sentence) => `spec.scope.rules[${index}]: ${sentence}`,
      ),
    ),
  );
  return [...roles, ...rules].slice(0, mostWarnings);
}

function entryWarnings(
  { namespaces }: ScopeRule,
  { group, resources }: ScopeResources,
  scopeOf: ScopeVocabulary["scopeOf"],
): readonly string[] {
  return resources.flatMap((name) => {
    const [resource = ""] = name.split("/");
    if (resource.includes("*")) return [];
    const scope = authorizationOnlyScope(group, resource) ?? scopeOf(group, resource);
    const what = JSON.stringify(group === "" ? resource : `${resource}.${group}`);
    if (scope === undefined)
      return [`the API server does not serve ${what}, so the entry covers nothing`];
    if (namespaces.length === 0) return [];
    if (scope === "Namespaced" && namespaces.every((namespace) => namespace === ""))
      return [
        `${what} is namespaced, so namespaces [""] does not cover it; name its namespaces, or ` +
          "omit namespaces to cover all",
      ];
    // A Namespace is cluster-scoped, but requests for it have its name as their namespace.
    const covers = namespaces.includes("") || (group === "" && resource === "namespaces");
    return scope === "Cluster" && !covers
      ? [`${what} is not namespaced, so these namespaces do not cover it; add "" to namespaces`]
      : [];
  });
}
