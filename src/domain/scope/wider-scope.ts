import type { Scope, ScopeResources, ScopeRole, ScopeRule } from "../../api/scope.ts";
import { listsResources } from "./patterns.ts";

/**
 * A scope that is prepared for comparisons with narrower ones: its names are in sets and maps, so
 * that each name of the other scope is one lookup.
 */
export interface WiderScope {
  readonly projects: ReadonlySet<string>;
  readonly spaces: Pairs;
  readonly virtualClusters: Pairs;
  readonly clusters: ReadonlySet<string>;
  readonly roles: ReadonlyMap<string, WiderRoles>;
  readonly rules: readonly WiderRule[];
}

/** The second names of each first name. */
export type Pairs = ReadonlyMap<string, ReadonlySet<string>>;

/** The entries of one role, by project. */
export interface WiderRoles {
  /** Entries that contain every project. */
  readonly ofAnyProject: readonly WiderRole[];
  readonly ofProject: ReadonlyMap<string, readonly WiderRole[]>;
}

/** A role entry; an empty set does not restrict. */
export interface WiderRole {
  readonly projects: ReadonlySet<string>;
  readonly virtualClusters: ReadonlySet<string>;
}

/** A rule; an empty set does not restrict, but an empty list of paths covers no path. */
export interface WiderRule {
  readonly verbs: ReadonlySet<string>;
  readonly requestTargets: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
  readonly resourceNames: ReadonlySet<string>;
  readonly cluster: string;
  readonly virtualClusters: Pairs;
  readonly isAboutResources: boolean;
  /** Patterns of resources by API group; an empty map is every resource of every group. */
  readonly resources: ReadonlyMap<string, WiderResources>;
  readonly paths: readonly string[];
}

/** The resources of a rule in one API group. */
interface WiderResources {
  /** Whether it covers every resource and subresource. */
  readonly all: boolean;
  readonly patterns: ReadonlySet<string>;
}

/** Prepares a scope for comparisons. */
export function widerScope({
  projects,
  spaces,
  virtualClusters,
  clusters,
  roles,
  rules,
}: Scope): WiderScope {
  return {
    projects: new Set(projects),
    spaces: pairs(spaces.map(({ project, space }) => [project, space])),
    virtualClusters: pairs(
      virtualClusters.map(({ project, virtualCluster }) => [project, virtualCluster]),
    ),
    clusters: new Set(clusters),
    roles: byRole(roles),
    rules: rules.map(widerRule),
  };
}

function byRole(entries: readonly ScopeRole[]): ReadonlyMap<string, WiderRoles> {
  const found = new Map<
    string,
    { readonly ofAnyProject: WiderRole[]; readonly ofProject: Map<string, WiderRole[]> }
  >();
  for (const { role, projects, virtualClusters } of entries) {
    const wider = { projects: new Set(projects), virtualClusters: new Set(virtualClusters) };
    const known = found.get(role) ?? {
      ofAnyProject: [],
      ofProject: new Map<string, WiderRole[]>(),
    };
    found.set(role, known);
    if (projects.length === 0) known.ofAnyProject.push(wider);
    for (const project of wider.projects)
      known.ofProject.set(project, [...(known.ofProject.get(project) ?? []), wider]);
  }
  return found;
}

function widerRule(rule: ScopeRule): WiderRule {
  return {
    verbs: new Set(rule.verbs),
    requestTargets: new Set(rule.requestTargets),
    namespaces: new Set(rule.namespaces),
    resourceNames: new Set(rule.resourceNames),
    cluster: rule.cluster,
    virtualClusters: pairs(rule.virtualClusters.map(({ name, namespace }) => [name, namespace])),
    isAboutResources: isAboutResources(rule),
    resources: byGroup(rule.resources),
    paths: pathsOf(rule),
  };
}

/**
 * Whether a rule covers any resource; a rule with names and without resources, which admission
 * rejects, covers none.
 */
export function isAboutResources(rule: ScopeRule): boolean {
  if (rule.resourceNames.length > 0 && rule.resources.length === 0) return false;
  return rule.nonResourceURLs.length === 0 || listsResources(rule);
}

/** The paths that a rule covers; empty if it only covers resources. */
export function pathsOf(rule: ScopeRule): readonly string[] {
  if (rule.nonResourceURLs.length > 0) return rule.nonResourceURLs;
  return listsResources(rule) ? [] : ["*"];
}

function pairs(entries: readonly (readonly [string, string])[]): Pairs {
  const found = new Map<string, Set<string>>();
  for (const [first, second] of entries) {
    const seconds = found.get(first);
    if (seconds === undefined) found.set(first, new Set([second]));
    else seconds.add(second);
  }
  return found;
}

function byGroup(entries: readonly ScopeResources[]): ReadonlyMap<string, WiderResources> {
  const patterns = new Map<string, Set<string>>();
  const whole = new Set<string>();
  for (const { group, resources } of entries) {
    const known = patterns.get(group) ?? new Set();
    for (const pattern of resources) known.add(pattern);
    patterns.set(group, known);
    if (resources.length === 0) whole.add(group);
  }
  return new Map(
    [...patterns].map(([group, known]) => [
      group,
      { all: whole.has(group) || known.has("*"), patterns: known },
    ]),
  );
}
