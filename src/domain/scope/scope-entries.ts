import type { PolicyRule } from "../../api/role.ts";
import type { Scope, ScopeLimit, ScopeRole, ScopeRule } from "../../api/scope.ts";
import { allows, type ScopeContext } from "./allows.ts";
import { qualifiedResource } from "./patterns.ts";
import type { ScopeRoles } from "./scope-roles.ts";
import type { ScopedRequest } from "./scoped-request.ts";

/** A field of an entry of a scope that keeps the entry from allowing a request. */
export interface EntryField {
  /** Such as `spec.scope.rules[0].verbs`. */
  readonly field: string;
  /** Its values; empty if it lists none. */
  readonly found: readonly string[];
  /** The value of the request; absent if it has none, such as a project. */
  readonly wanted?: string;
}

/** What one entry of a scope says about a request. */
export interface EntryVerdict {
  /** Such as `spec.scope.rules[0]`. */
  readonly field: string;
  readonly isAllowed: boolean;
  /** Empty if the entry allows the request, or if no entry of its kind can. */
  readonly mismatches: readonly EntryField[];
}

/** A scope without entries. */
export const emptyScope: Scope = {
  roles: [],
  projects: [],
  spaces: [],
  virtualClusters: [],
  clusters: [],
  rules: [],
};

/**
 * Asks the scope engine about each entry of a scope alone; any entry is enough. A field keeps an
 * entry from allowing the request if the engine denies an entry whose other fields are made for it.
 */
export function scopeEntries(
  limit: ScopeLimit,
  request: ScopedRequest,
  context: ScopeContext,
): readonly EntryVerdict[] {
  if (limit === "none" || limit === "unreadable") return [];
  const roles: ScopeRoles = new Map([...context.roles, [madeRole, [ruleFor(request)]]]);
  const isAllowed = (scope: Partial<Scope>, { asked = request, known = roles } = {}): boolean =>
    allows({ ...emptyScope, ...scope }, asked, { ...context, roles: known }).kind === "allowed";
  const located = { project: any, space: any, virtualCluster: any, ...request };
  return entriesOf(limit, request).map(({ path, scope, made, parts }) => {
    const field = `spec.scope.${path}`;
    if (isAllowed(scope, { known: context.roles }))
      return { field, isAllowed: true, mismatches: [] };
    const wrong = parts.filter((part) => !isAllowed(part.scope));
    const named = wrong.length === 0 ? parts.slice(0, 1) : wrong;
    const mismatches = named.map(({ name, found, wanted = "" }) => ({
      field: `${field}.${name}`,
      found,
      ...(wanted === "" ? {} : { wanted }),
    }));
    // A request outside a project could be in one.
    const isPossible = isAllowed(made, { asked: located });
    return { field, isAllowed: false, mismatches: isPossible ? mismatches : [] };
  });
}

/** An entry of a scope alone, and scopes that tell which of its fields do not match a request. */
interface Entry {
  readonly path: string;
  readonly scope: Partial<Scope>;
  /** An entry of the same kind that is made for the request. */
  readonly made: Partial<Scope>;
  /** The first one is named if no field alone keeps the entry from allowing the request. */
  readonly parts: readonly Part[];
}

/** A field of an entry, and an entry that has this field and is otherwise made for the request. */
interface Part {
  readonly name: string;
  readonly found: readonly string[];
  readonly wanted?: string | undefined;
  readonly scope: Partial<Scope>;
}

const any = "*";

function entriesOf(scope: Scope, request: ScopedRequest): readonly Entry[] {
  const { rules, projects, spaces, virtualClusters, clusters, roles } = scope;
  return [
    ...rules.map((rule, at) => ({ path: `rules[${at}]`, ...ruleEntry(rule, request) })),
    ...projects.map((name, at) => ({
      path: `projects[${at}]`,
      scope: { projects: [name] },
      made: { projects: [any] },
      parts: [
        { name: "project", found: [name], wanted: request.project, scope: { projects: [name] } },
      ],
    })),
    ...spaces.map((entry, at) => ({
      path: `spaces[${at}]`,
      scope: { spaces: [entry] },
      made: { spaces: [{ project: any, space: any }] },
      parts: [
        {
          ...{ name: "project", found: [entry.project], wanted: request.project },
          scope: { spaces: [{ ...entry, space: any }] },
        },
        {
          ...{ name: "space", found: [entry.space], wanted: request.space },
          scope: { spaces: [{ ...entry, project: any }] },
        },
      ],
    })),
    ...virtualClusters.map((entry, at) => ({
      path: `virtualClusters[${at}]`,
      scope: { virtualClusters: [entry] },
      made: { virtualClusters: [{ project: any, virtualCluster: any }] },
      parts: [
        {
          ...{ name: "project", found: [entry.project], wanted: request.project },
          scope: { virtualClusters: [{ ...entry, virtualCluster: any }] },
        },
        {
          name: "virtualCluster",
          found: [entry.virtualCluster],
          wanted: request.virtualCluster,
          scope: { virtualClusters: [{ ...entry, project: any }] },
        },
      ],
    })),
    ...clusters.map((name, at) => ({
      path: `clusters[${at}]`,
      scope: { clusters: [name] },
      made: { clusters: [any] },
      parts: [
        { name: "cluster", found: [name], wanted: request.cluster, scope: { clusters: [name] } },
      ],
    })),
    ...roles.map((role, at) => ({ path: `roles[${at}]`, ...roleEntry(role, request) })),
  ];
}

function ruleEntry(rule: ScopeRule, request: ScopedRequest): Omit<Entry, "path"> {
  const made = scopeRuleFor(request);
  const isResource = request.kind === "resource";
  const part = (
    name: keyof ScopeRule,
    found: readonly string[],
    given: Partial<ScopeRule>,
  ): Part => ({ name, found, scope: { rules: [{ ...made, ...given }] } });
  const { verbs, resources, resourceNames, namespaces, nonResourceURLs } = rule;
  const resource = {
    ...part("resources", resourceTexts(rule), { resources }),
    wanted: isResource ? resourceText(request.group, qualifiedResource(request)) : undefined,
  };
  const path = {
    ...part("nonResourceURLs", nonResourceURLs, { nonResourceURLs }),
    wanted: isResource ? undefined : request.path,
  };
  return {
    scope: { rules: [rule] },
    made: { rules: [made] },
    parts: [
      ...(isResource ? [resource] : [path]),
      { ...part("verbs", verbs, { verbs }), wanted: request.verb },
      {
        ...part("resourceNames", resourceNames, { resourceNames }),
        wanted: isResource ? request.name : undefined,
      },
      {
        ...part("namespaces", namespaces, { namespaces }),
        wanted: isResource ? request.namespace : undefined,
      },
      {
        ...part("requestTargets", rule.requestTargets, { requestTargets: rule.requestTargets }),
        wanted: request.target,
      },
      { ...part("cluster", [rule.cluster], { cluster: rule.cluster }), wanted: request.cluster },
      {
        ...part(
          "virtualClusters",
          rule.virtualClusters.map(({ namespace, name }) => `${namespace}/${name}`),
          { virtualClusters: rule.virtualClusters },
        ),
        wanted: request.virtualCluster,
      },
    ],
  };
}

function resourceTexts({ resources }: ScopeRule): readonly string[] {
  return resources.flatMap((entry) =>
    (entry.resources.length === 0 ? [any] : entry.resources).map((name) =>
      resourceText(entry.group, name),
    ),
  );
}

function resourceText(group: string, resource: string): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** A rule that lists everything of the request by name. */
function scopeRuleFor(request: ScopedRequest): ScopeRule {
  const rule = {
    verbs: [request.verb],
    resources: [],
    resourceNames: [],
    namespaces: [],
    nonResourceURLs: [],
    requestTargets: [],
    cluster: "",
    virtualClusters: [],
  };
  if (request.kind === "path") return { ...rule, nonResourceURLs: [request.path] };
  const { group, namespace } = request;
  return {
    ...rule,
    resources: [{ group, resources: [qualifiedResource(request)] }],
    // A request for all namespaces has none, and a rule without namespaces covers it.
    namespaces: namespace === "" ? [] : [namespace],
  };
}

/** The name of a role that is made for the request; no ClusterRole can have a label like it. */
const madeRole = "made for the request";

function roleEntry(role: ScopeRole, request: ScopedRequest): Omit<Entry, "path"> {
  const made: ScopeRole = { role: madeRole, projects: [], virtualClusters: [] };
  const { projects, virtualClusters } = role;
  const one = (given: Partial<ScopeRole>) => ({ roles: [{ ...made, ...given }] });
  return {
    scope: { roles: [role] },
    made: one({}),
    parts: [
      { name: "role", found: [role.role], scope: one({ role: role.role }) },
      { name: "projects", found: projects, wanted: request.project, scope: one({ projects }) },
      {
        name: "virtualClusters",
        found: virtualClusters,
        wanted: request.virtualCluster,
        scope: one({ virtualClusters }),
      },
    ],
  };
}

/** A rule of a role that permits the request. */
function ruleFor(request: ScopedRequest): PolicyRule {
  const rule = { verbs: [request.verb], resourceNames: [] };
  return request.kind === "path"
    ? { ...rule, apiGroups: [], resources: [], nonResourceURLs: [request.path] }
    : {
        ...rule,
        apiGroups: [request.group],
        resources: [qualifiedResource(request)],
        nonResourceURLs: [],
      };
}
