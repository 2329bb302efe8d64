import type { ScopeResources, ScopeRule } from "../../api/scope.ts";
import { isImpersonation, isInGuardedNamespace } from "./derived-credentials.ts";
import type { Dimension, EntryKind } from "./dimension.ts";
import {
  coversPath,
  coversResource,
  hasPlainPath,
  pathWithin,
  qualifiedResource,
  resourceWithin,
} from "./patterns.ts";
import type { ResourceRequest, ScopedRequest } from "./scoped-request.ts";

/** A field of a rule that lists texts, one of which is that of the request. */
function listing(
  name: "verbs" | "requestTargets",
  askedOf: (request: ScopedRequest) => string,
): Dimension<ScopeRule> {
  return {
    name,
    askedOf,
    valuesOf: (rule) => rule[name],
    covers: (rule, request) => isAnyOf(rule[name], askedOf(request)),
    narrows: (child, parent, sets) => sets.isSubset(child[name], parent[name]),
  };
}

/** A list covers no question about every verb (`*`), whatever it names. */
function isAnyOf(listed: readonly string[], value: string): boolean {
  return listed.length === 0 || (value !== "*" && listed.includes(value));
}

/** A field of a rule about resources, which does not restrict requests for paths. */
function ofResources({
  covers,
  askedOf,
  narrows,
  ...others
}: Omit<Dimension<ScopeRule>, "covers" | "askedOf"> & {
  readonly covers: (rule: ScopeRule, request: ResourceRequest) => boolean;
  readonly askedOf: (request: ResourceRequest) => string;
}): Dimension<ScopeRule> {
  return {
    ...others,
    covers: (rule, request) => request.kind === "path" || covers(rule, request),
    askedOf: (request) => (request.kind === "path" ? undefined : askedOf(request)),
    narrows: (child, parent, sets) =>
      !coversResources(child) || (coversResources(parent) && narrows(child, parent, sets)),
  };
}

/**
 * Whether a namespace of a rule covers a request; the empty string covers cluster-scoped resources
 * (specification, rules entry). A request for all namespaces has no namespace, either, but its
 * resource is namespaced.
 */
function coversNamespace(namespace: string, request: ResourceRequest): boolean {
  return namespace === "" ? request.resourceScope === "Cluster" : namespace === request.namespace;
}

function resourceText(group: string, resource: string): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** Texts of an entry of `resources`; an entry without names is every resource of its group. */
function resourceTexts({ group, resources }: ScopeResources): readonly string[] {
  return (resources.length === 0 ? ["*"] : resources).map((name) => resourceText(group, name));
}

const rules: readonly Dimension<ScopeRule>[] = [
  {
    name: "nonResourceURLs",
    valuesOf: ({ nonResourceURLs }) => nonResourceURLs,
    askedOf: (request) => (request.kind === "path" ? request.path : undefined),
    covers: ({ nonResourceURLs }, request) =>
      request.kind === "resource" ||
      nonResourceURLs.length === 0 ||
      nonResourceURLs.some((pattern) => coversPath(pattern, request.path)),
    applies: hasPlainPath,
    narrows: (child, parent) => {
      const patterns = pathsOf(parent);
      return pathsOf(child).every((path) => patterns.some((pattern) => pathWithin(path, pattern)));
    },
  },
  ofResources({
    name: "resources",
    valuesOf: ({ resources }) => resources.flatMap(resourceTexts),
    askedOf: (request) => resourceText(request.group, qualifiedResource(request)),
    covers: ({ resources }, request) =>
      resources.length === 0 || resources.some((entry) => coversResource(entry, request)),
    lists: ({ resources }, request) =>
      resources.some(
        (entry) =>
          entry.group === request.group && entry.resources.includes(qualifiedResource(request)),
      ),
    narrows: ({ resources }, parent, sets) =>
      parent.resources.length === 0 ||
      (resources.length > 0 &&
        resources.every((entry) => resourceWithin(entry, parent.resources, sets))),
  }),
  {
    ...listing("verbs", ({ verb }) => verb),
    lists: ({ verbs }, { verb }) => !isImpersonation(verb) || verbs.includes(verb),
  },
  ofResources({
    name: "resourceNames",
    valuesOf: ({ resourceNames }) => resourceNames,
    askedOf: ({ name }) => name,
    covers: ({ resourceNames }, { name }) => isAnyOf(resourceNames, name),
    narrows: (child, parent, sets) => sets.isSubset(child.resourceNames, parent.resourceNames),
  }),
  ofResources({
    name: "namespaces",
    valuesOf: ({ namespaces }) => namespaces,
    askedOf: ({ namespace }) => namespace,
    covers: ({ namespaces }, request) =>
      namespaces.length === 0 ||
      namespaces.some((namespace) => coversNamespace(namespace, request)),
    lists: ({ namespaces }, request, { ownNamespace }) =>
      !isInGuardedNamespace(request, ownNamespace) || namespaces.includes(request.namespace),
    narrows: (child, parent, sets) => sets.isSubset(child.namespaces, parent.namespaces),
  }),
  listing("requestTargets", ({ target }) => target),
  {
    name: "cluster",
    valuesOf: ({ cluster }) => (cluster === "" ? [] : [cluster]),
    askedOf: ({ cluster }) => cluster,
    covers: ({ cluster }, request) =>
      cluster === "" || (request.target === "Cluster" && request.cluster === cluster),
    narrows: (child, parent) => parent.cluster === "" || child.cluster === parent.cluster,
  },
  {
    name: "virtualClusters",
    valuesOf: (rule) => rule.virtualClusters.map(({ namespace, name }) => `${namespace}/${name}`),
    askedOf: ({ virtualCluster }) => virtualCluster,
    covers: ({ virtualClusters }, request) =>
      virtualClusters.length === 0 ||
      (request.target === "ProjectVirtualCluster" &&
        virtualClusters.some(
          ({ name, namespace }) =>
            (name === "" || name === request.virtualCluster) &&
            (namespace === "" || namespace === request.virtualClusterNamespace),
        )),
    narrows: (child, parent) =>
      parent.virtualClusters.length === 0 ||
      (child.virtualClusters.length > 0 &&
        child.virtualClusters.every((entry) =>
          parent.virtualClusters.some(
            ({ name, namespace }) =>
              (name === "" || name === entry.name) &&
              (namespace === "" || namespace === entry.namespace),
          ),
        )),
  },
];

/** Rules; as in audit policy, one that only lists resources is about no path. */
export const ruleKind: EntryKind<ScopeRule> = {
  list: "rules",
  entriesOf: (scope) => scope.rules,
  dimensions: rules,
  isAbout: (rule, request) =>
    request.kind === "resource" ? coversResources(rule) : pathsOf(rule).length > 0,
};

/**
 * Whether a rule covers any resource. As in audit policy, one that only lists paths does not; nor
 * does one with names and without resources, which admission rejects: the specification requires
 * resources with names.
 */
function coversResources(rule: ScopeRule): boolean {
  if (rule.resourceNames.length > 0 && rule.resources.length === 0) return false;
  return rule.nonResourceURLs.length === 0 || listsResources(rule);
}

/** The paths that a rule covers: all if it has no list, and none if it only lists resources. */
function pathsOf(rule: ScopeRule): readonly string[] {
  if (rule.nonResourceURLs.length > 0) return rule.nonResourceURLs;
  return listsResources(rule) ? [] : ["*"];
}

function listsResources({ resources, resourceNames, namespaces }: ScopeRule): boolean {
  return resources.length > 0 || resourceNames.length > 0 || namespaces.length > 0;
}
