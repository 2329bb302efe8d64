import type { Scope, ScopeLimit, ScopeRole } from "../../api/scope.ts";
import type { Dimension, EntryKind } from "./dimension.ts";
import { hasPlainPath, selectsName } from "./patterns.ts";
import { ruleKind } from "./rule-kind.ts";
import { haveRoles, rolePermits } from "./scope-roles.ts";
import type { ScopedRequest } from "./scoped-request.ts";

/** A field with one name or `*`, which selects the name of a request. */
function naming<Entry>(
  name: string,
  nameOf: (entry: Entry) => string,
  askedOf: (request: ScopedRequest) => string | undefined,
): Dimension<Entry> {
  return {
    ...selecting(name, (entry: Entry) => [nameOf(entry)], askedOf),
    covers: (entry, request) => selectsName(nameOf(entry), askedOf(request)),
  };
}

/** A field with names and `*`, which select the name of a request; empty: any. */
function selecting<Entry>(
  name: string,
  valuesOf: (entry: Entry) => readonly string[],
  askedOf: (request: ScopedRequest) => string | undefined,
): Dimension<Entry> {
  return {
    name,
    valuesOf,
    askedOf,
    covers: (entry, request) => {
      const [patterns, asked] = [valuesOf(entry), askedOf(request)];
      return patterns.length === 0 || patterns.some((pattern) => selectsName(pattern, asked));
    },
    narrows: (child, parent, sets) => {
      const patterns = valuesOf(parent);
      return patterns.length === 0 || sets.areSelected(valuesOf(child), patterns);
    },
  };
}

const projectOf = ({ project }: ScopedRequest): string | undefined => project;
const spaceOf = ({ space }: ScopedRequest): string | undefined => space;
const virtualClusterOf = ({ virtualCluster }: ScopedRequest): string | undefined => virtualCluster;
/** A scope covers the central cluster by other entries than `clusters`. */
const connectedClusterOf = ({ target, cluster }: ScopedRequest): string | undefined =>
  target === "Management" ? undefined : cluster;

const projectKind: EntryKind<string> = {
  list: "projects",
  entriesOf: (scope) => scope.projects,
  projectsOf: (project) => [project],
  dimensions: [naming("project", (project) => project, projectOf)],
};

const spaceKind: EntryKind<Scope["spaces"][number]> = {
  list: "spaces",
  entriesOf: (scope) => scope.spaces,
  projectsOf: ({ project }) => [project],
  dimensions: [
    naming("project", ({ project }) => project, projectOf),
    naming("space", ({ space }) => space, spaceOf),
  ],
};

const virtualClusterKind: EntryKind<Scope["virtualClusters"][number]> = {
  list: "virtualClusters",
  entriesOf: (scope) => scope.virtualClusters,
  projectsOf: ({ project }) => [project],
  dimensions: [
    naming("project", ({ project }) => project, projectOf),
    naming("virtualCluster", ({ virtualCluster }) => virtualCluster, virtualClusterOf),
  ],
};

const clusterKind: EntryKind<string> = {
  list: "clusters",
  entriesOf: (scope) => scope.clusters,
  dimensions: [
    {
      ...naming<string>("cluster", (cluster) => cluster, connectedClusterOf),
      applies: (request) => connectedClusterOf(request) !== undefined,
    },
  ],
};

const roleKind: EntryKind<ScopeRole> = {
  list: "roles",
  entriesOf: (scope) => scope.roles,
  projectsOf: ({ projects }) => projects,
  dimensions: [
    {
      name: "role",
      valuesOf: ({ role }) => [role],
      askedOf: () => undefined,
      covers: ({ role }, request, { roles }) => rolePermits(role, request, roles),
      applies: (request) => haveRoles(request) && hasPlainPath(request),
      narrows: (child, parent) => child.role === parent.role,
    },
    selecting("projects", ({ projects }) => projects, projectOf),
    selecting("virtualClusters", ({ virtualClusters }) => virtualClusters, virtualClusterOf),
  ],
};

/** A kind of entries, given to a function that does not know what its entries are. */
type OneKind = <T>(read: <Entry>(kind: EntryKind<Entry>) => T) => T;

function oneKind<Entry>(kind: EntryKind<Entry>): OneKind {
  return (read) => read(kind);
}

/** All kinds of entries, in the order in which an explanation names them. */
export const entryKinds: readonly OneKind[] = [
  oneKind(ruleKind),
  oneKind(projectKind),
  oneKind(spaceKind),
  oneKind(virtualClusterKind),
  oneKind(clusterKind),
  oneKind(roleKind),
];

/**
 * Whether a scope has entries that go by the labels of namespaces in a cluster that is in no
 * project.
 */
export function dependsOnLabels(limit: ScopeLimit): boolean {
  if (limit === "none" || limit === "unreadable") return false;
  return entryKinds.some((of) =>
    of(({ projectsOf, entriesOf }) => projectsOf !== undefined && entriesOf(limit).length > 0),
  );
}
