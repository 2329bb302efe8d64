import type { Scope, ScopeLimit } from "../../api/scope.ts";
import { allows, type ScopeContext } from "./allows.ts";
import type { ScopedRequest } from "./request.ts";

/**
 * The path of the first entry of a scope that allows a request, such as `spec.scope.rules[2]`;
 * undefined if none does, or if no entry is needed. Any entry is enough, so each is asked alone.
 */
export function allowingEntry(
  limit: ScopeLimit,
  request: ScopedRequest,
  context: ScopeContext,
): string | undefined {
  if (limit === "none" || limit === "unreadable") return undefined;
  const isAllowed = (scope: Scope): boolean => allows(scope, request, context).kind === "allowed";
  if (isAllowed(nothing)) return undefined;
  return singleEntries(limit).find(({ scope }) => isAllowed(scope))?.field;
}

const nothing: Scope = {
  roles: [],
  projects: [],
  spaces: [],
  virtualClusters: [],
  clusters: [],
  rules: [],
};

interface SingleEntry {
  readonly field: string;
  readonly scope: Scope;
}

function singleEntries(scope: Scope): readonly SingleEntry[] {
  const { rules, projects, spaces, virtualClusters, clusters, roles } = scope;
  const at = (list: keyof Scope, index: number): string => `spec.scope.${list}[${index}]`;
  const alone = <T>(
    list: keyof Scope,
    entries: readonly T[],
    scopeOf: (entry: T) => Partial<Scope>,
  ): readonly SingleEntry[] =>
    entries.map((entry, index) => ({
      field: at(list, index),
      scope: { ...nothing, ...scopeOf(entry) },
    }));
  return [
    ...alone("rules", rules, (entry) => ({ rules: [entry] })),
    ...alone("projects", projects, (entry) => ({ projects: [entry] })),
    ...alone("spaces", spaces, (entry) => ({ spaces: [entry] })),
    ...alone("virtualClusters", virtualClusters, (entry) => ({ virtualClusters: [entry] })),
    ...alone("clusters", clusters, (entry) => ({ clusters: [entry] })),
    ...alone("roles", roles, (entry) => ({ roles: [entry] })),
  ];
}
