import type { Scope, ScopeLimit, ScopeResources, ScopeRole, ScopeRule } from "../../api/scope.ts";
import {
  couldEscape,
  isGuardedNamespace,
  isImpersonation,
  isSecrets,
} from "./derived-credentials.ts";
import {
  isAboutResources,
  type Pairs,
  pathsOf,
  type WiderRole,
  type WiderRoles,
  type WiderRule,
  type WiderScope,
  widerScope,
} from "./wider-scope.ts";

/**
 * Whether `parent` allows everything that `child` allows, regardless of the rules of the roles that
 * they name: each entry of the child must be within one entry of the parent. It is conservative: it
 * accepts no wider scope, and rejects some narrower ones. `ownNamespace` is Latchkey's own.
 */
export function narrows(child: ScopeLimit, parent: ScopeLimit, ownNamespace: string): boolean {
  if (parent === "none" || child === "unreadable") return true;
  if (parent === "unreadable" || child === "none") return false;
  const wider = widerScope(parent);
  const isOpen = wider.rules.some(restrictsNothing) && wider.rules.some(coversAllSecrets);
  return (
    (isOpen || placesNarrow(child, wider)) &&
    child.rules.every((rule) => wider.rules.some((other) => ruleNarrows(rule, other, ownNamespace)))
  );
}

function placesNarrow(child: Scope, parent: WiderScope): boolean {
  const inProject = (project: string): boolean => nameNarrows(project, parent.projects);
  return (
    child.projects.every(inProject) &&
    child.spaces.every(
      ({ project, space }) => inProject(project) || pairNarrows([project, space], parent.spaces),
    ) &&
    child.virtualClusters.every(
      ({ project, virtualCluster }) =>
        inProject(project) || pairNarrows([project, virtualCluster], parent.virtualClusters),
    ) &&
    child.clusters.every((cluster) => nameNarrows(cluster, parent.clusters)) &&
    child.roles.every(
      (role) =>
        isInside(role.projects, inProject) ||
        candidates(role, parent.roles.get(role.role)).some((wider) => roleNarrows(role, wider)),
    )
  );
}

/**
 * The entries of the same role that may contain a role entry: an entry that contains all of its
 * projects contains the first one.
 */
function candidates(
  { projects: [first] }: ScopeRole,
  wider: WiderRoles | undefined,
): readonly WiderRole[] {
  if (wider === undefined) return [];
  const named =
    first === undefined
      ? []
      : [...(wider.ofProject.get(first) ?? []), ...(wider.ofProject.get("*") ?? [])];
  return [...wider.ofAnyProject, ...named];
}

function roleNarrows(child: ScopeRole, parent: WiderRole): boolean {
  const isWithin = (names: readonly string[], wider: ReadonlySet<string>): boolean =>
    wider.size === 0 || isInside(names, (name) => nameNarrows(name, wider));
  return (
    isWithin(child.projects, parent.projects) &&
    isWithin(child.virtualClusters, parent.virtualClusters)
  );
}

/**
 * Whether the list is not empty, so that it restricts, and `holds` is true for all of its names.
 */
function isInside(names: readonly string[], holds: (name: string) => boolean): boolean {
  return names.length > 0 && names.every(holds);
}

/** Whether a name, or `*` as the whole name, is within the names of the parent. */
function nameNarrows(child: string, parent: ReadonlySet<string>): boolean {
  return parent.has(child) || (child !== "" && parent.has("*"));
}

function pairNarrows([first, second]: readonly [string, string], parent: Pairs): boolean {
  const firsts = first === "" ? [""] : [first, "*"];
  return firsts.some((name) => nameNarrows(second, parent.get(name) ?? new Set()));
}

/**
 * Whether a rule covers every request, except those that require a rule that names the resource.
 */
function restrictsNothing(rule: WiderRule): boolean {
  return restrictsNoRequest(rule) && rule.resources.size === 0 && rule.isAboutResources;
}

/**
 * Whether a rule covers all Secrets. Locations and roles cover Secrets, but a rule only covers them
 * by name.
 */
function coversAllSecrets(rule: WiderRule): boolean {
  return restrictsNoRequest(rule) && rule.resources.get("")?.patterns.has("secrets") === true;
}

function restrictsNoRequest({
  verbs,
  requestTargets,
  namespaces,
  resourceNames,
  cluster,
  virtualClusters,
}: WiderRule): boolean {
  return (
    cluster === "" &&
    [verbs, requestTargets, namespaces, resourceNames, virtualClusters].every(
      (set) => set.size === 0,
    )
  );
}

function ruleNarrows(child: ScopeRule, parent: WiderRule, ownNamespace: string): boolean {
  if (
    !isSubset(child.verbs, parent.verbs) ||
    !isSubset(child.requestTargets, parent.requestTargets)
  )
    return false;
  if (parent.cluster !== "" && child.cluster !== parent.cluster) return false;
  if (!virtualClustersNarrow(child, parent)) return false;
  return resourcesNarrow(child, parent, ownNamespace) && pathsNarrow(child, parent);
}

/**
 * Whether the values of the child are within those of the parent; an empty list does not restrict.
 */
function isSubset(child: readonly string[], parent: ReadonlySet<string>): boolean {
  return parent.size === 0 || (child.length > 0 && child.every((value) => parent.has(value)));
}

function virtualClustersNarrow(child: ScopeRule, { virtualClusters: parent }: WiderRule): boolean {
  if (parent.size === 0) return true;
  if (child.virtualClusters.length === 0) return false;
  // The empty string means any.
  const isWithin = (name: string, namespace: string): boolean =>
    [parent.get(name), parent.get("")].some(
      (wider) => wider?.has(namespace) === true || wider?.has("") === true,
    );
  return child.virtualClusters.every((entry) => isWithin(entry.name, entry.namespace));
}

function resourcesNarrow(child: ScopeRule, parent: WiderRule, ownNamespace: string): boolean {
  if (!isAboutResources(child)) return true;
  if (!parent.isAboutResources) return false;
  if (
    !isSubset(child.namespaces, parent.namespaces) ||
    !isSubset(child.resourceNames, parent.resourceNames)
  )
    return false;
  const isListed =
    parent.resources.size === 0 ||
    (child.resources.length > 0 && child.resources.every((entry) => isWithinGroup(entry, parent)));
  return isListed && namedOnesNarrow(child, parent, ownNamespace);
}

/**
 * Whether the parent also names everything that is only covered by name: resources, impersonation
 * verbs, and guarded namespaces with the resources in them.
 */
function namedOnesNarrow(child: ScopeRule, parent: WiderRule, ownNamespace: string): boolean {
  const guarded = child.namespaces.filter((namespace) =>
    isGuardedNamespace(namespace, ownNamespace),
  );
  const actsAs = child.verbs.filter(isImpersonation);
  const mustBeNamed = (group: string, name: string): boolean =>
    guarded.length > 0 ||
    actsAs.length > 0 ||
    isSecrets(group, name) ||
    couldEscape(group, name, child.verbs);
  const named = child.resources.flatMap(({ group, resources }) =>
    resources.filter((name) => mustBeNamed(group, name)).map((name) => ({ group, name })),
  );
  if (named.length === 0) return true;
  const isNamed = named.every(
    ({ group, name }) => parent.resources.get(group)?.patterns.has(name) === true,
  );
  return (
    isNamed &&
    guarded.every((namespace) => parent.namespaces.has(namespace)) &&
    actsAs.every((verb) => parent.verbs.has(verb))
  );
}

function isWithinGroup({ group, resources }: ScopeResources, parent: WiderRule): boolean {
  const wider = parent.resources.get(group);
  if (wider === undefined) return false;
  return (
    wider.all ||
    (resources.length > 0 && resources.every((pattern) => patternNarrows(pattern, wider.patterns)))
  );
}

/**
 * Whether a resource pattern is within those of the parent, none of which is `*` (specification,
 * rules entry).
 */
function patternNarrows(child: string, parent: ReadonlySet<string>): boolean {
  if (parent.has(child)) return true;
  const slash = child.indexOf("/");
  return (
    slash > 0 && (parent.has(`${child.slice(0, slash)}/*`) || parent.has(`*${child.slice(slash)}`))
  );
}

function pathsNarrow(child: ScopeRule, { paths: wider }: WiderRule): boolean {
  return pathsOf(child).every((path) => wider.some((pattern) => pathNarrows(path, pattern)));
}

function pathNarrows(child: string, parent: string): boolean {
  return (
    child === parent ||
    parent === "*" ||
    (parent.endsWith("/*") && child.startsWith(parent.slice(0, -1)))
  );
}
