import type { Scope, ScopeLimit, ScopeResources, ScopeRole, ScopeRule } from "../../api/scope.ts";
import { couldEscape, isImpersonation } from "./derived-credentials.ts";
import { listsResources } from "./patterns.ts";

/**
 * Whether all that `child` allows is allowed by `parent`, whatever the roles that they name hold: each entry of the child must
 * lie within one entry of the parent. It errs on the side of no: a wider scope never passes, some narrower ones do not either.
 */
export function narrows(child: ScopeLimit, parent: ScopeLimit): boolean {
  if (parent === "none" || child === "unreadable") return true;
  if (parent === "unreadable" || child === "none") return false;
  const isOpen = parent.rules.some(restrictsNothing);
  return (isOpen || placesNarrow(child, parent)) && child.rules.every((rule) => parent.rules.some((wider) => ruleNarrows(rule, wider)));
}

function placesNarrow(child: Scope, parent: Scope): boolean {
  const inProject = (project: string): boolean => parent.projects.some((wider) => nameNarrows(project, wider));
  return (
    child.projects.every(inProject) &&
    child.spaces.every(
      ({ project, space }) => inProject(project) || parent.spaces.some((wider) => nameNarrows(project, wider.project) && nameNarrows(space, wider.space)),
    ) &&
    child.virtualClusters.every(
      ({ project, virtualCluster }) =>
        inProject(project) || parent.virtualClusters.some((wider) => nameNarrows(project, wider.project) && nameNarrows(virtualCluster, wider.virtualCluster)),
    ) &&
    child.clusters.every((cluster) => parent.clusters.some((wider) => nameNarrows(cluster, wider))) &&
    child.roles.every((role) => isInside(role.projects, inProject) || parent.roles.some((wider) => roleNarrows(role, wider)))
  );
}

function roleNarrows(child: ScopeRole, parent: ScopeRole): boolean {
  const isWithin = (names: readonly string[], wider: readonly string[]): boolean =>
    wider.length === 0 || isInside(names, (name) => wider.some((pattern) => nameNarrows(name, pattern)));
  return child.role === parent.role && isWithin(child.projects, parent.projects) && isWithin(child.virtualClusters, parent.virtualClusters);
}

/** Whether the list restricts at all, and to nothing but what is inside. */
function isInside(names: readonly string[], holds: (name: string) => boolean): boolean {
  return names.length > 0 && names.every(holds);
}

/** A pattern within a pattern: a name, or `*` as the whole name. */
function nameNarrows(child: string, parent: string): boolean {
  return child === parent || (parent === "*" && child !== "");
}

/** A rule that covers every request for which no rule has to name the resource. */
function restrictsNothing(rule: ScopeRule): boolean {
  const lists = [rule.verbs, rule.resources, rule.resourceNames, rule.namespaces, rule.nonResourceURLs, rule.requestTargets, rule.virtualClusters];
  return rule.cluster === "" && lists.every((list) => list.length === 0);
}

function ruleNarrows(child: ScopeRule, parent: ScopeRule): boolean {
  if (!isSubset(child.verbs, parent.verbs) || !isSubset(child.requestTargets, parent.requestTargets)) return false;
  if (parent.cluster !== "" && child.cluster !== parent.cluster) return false;
  if (!virtualClustersNarrow(child, parent)) return false;
  return resourcesNarrow(child, parent) && pathsNarrow(child, parent);
}

/** An empty list restricts nothing. */
function isSubset(child: readonly string[], parent: readonly string[]): boolean {
  return parent.length === 0 || (child.length > 0 && child.every((value) => parent.includes(value)));
}

function virtualClustersNarrow(child: ScopeRule, parent: ScopeRule): boolean {
  const isWithin = (value: string, wider: string): boolean => wider === "" || wider === value;
  if (parent.virtualClusters.length === 0) return true;
  if (child.virtualClusters.length === 0) return false;
  return child.virtualClusters.every((entry) => parent.virtualClusters.some((wider) => isWithin(entry.name, wider.name) && isWithin(entry.namespace, wider.namespace)));
}

function resourcesNarrow(child: ScopeRule, parent: ScopeRule): boolean {
  if (!isAboutResources(child)) return true;
  if (!isAboutResources(parent)) return false;
  if (!isSubset(child.namespaces, parent.namespaces) || !isSubset(child.resourceNames, parent.resourceNames)) return false;
  const isListed = parent.resources.length === 0 || (child.resources.length > 0 && child.resources.every((entry) => isWithinEntries(entry, parent)));
  return isListed && child.resources.every((entry) => entry.resources.every((name) => !escapes(entry.group, name, child) || isNamed(entry.group, name, { child, parent })));
}

function isWithinEntries({ group, resources }: ScopeResources, { resources: entries }: ScopeRule): boolean {
  const wider = entries.filter((entry) => entry.group === group);
  const holdsAll = wider.some((entry) => entry.resources.length === 0 || entry.resources.includes("*"));
  if (holdsAll) return true;
  const patterns = wider.flatMap((entry) => entry.resources);
  return resources.length > 0 && resources.every((pattern) => patterns.some((other) => patternNarrows(pattern, other)));
}

/** A pattern of resources within another that is not `*` (specification, rules entry). */
function patternNarrows(child: string, parent: string): boolean {
  if (child === parent) return true;
  const slash = child.indexOf("/");
  return slash > 0 && (parent === `${child.slice(0, slash)}/*` || parent === `*${child.slice(slash)}`);
}

/** Whether naming this resource could open what only a rule that names it opens. */
function escapes(group: string, name: string, { verbs }: ScopeRule): boolean {
  return verbs.some(isImpersonation) || couldEscape(group, name, verbs);
}

function isNamed(group: string, name: string, { child, parent }: { readonly child: ScopeRule; readonly parent: ScopeRule }): boolean {
  const isNamedToo = parent.resources.some((entry) => entry.group === group && entry.resources.includes(name));
  return isNamedToo && child.verbs.filter(isImpersonation).every((verb) => parent.verbs.includes(verb));
}

/** Whether a rule covers any resource; one with names and no resources, which admission refuses, covers none. */
function isAboutResources(rule: ScopeRule): boolean {
  if (rule.resourceNames.length > 0 && rule.resources.length === 0) return false;
  return rule.nonResourceURLs.length === 0 || listsResources(rule);
}

function pathsNarrow(child: ScopeRule, parent: ScopeRule): boolean {
  const [paths, wider] = [pathsOf(child), pathsOf(parent)];
  return paths.every((path) => wider.some((pattern) => pathNarrows(path, pattern)));
}

/** The paths that a rule covers; none where it is about resources alone. */
function pathsOf(rule: ScopeRule): readonly string[] {
  if (rule.nonResourceURLs.length > 0) return rule.nonResourceURLs;
  return listsResources(rule) ? [] : ["*"];
}

function pathNarrows(child: string, parent: string): boolean {
  return child === parent || parent === "*" || (parent.endsWith("/*") && child.startsWith(parent.slice(0, -1)));
}
