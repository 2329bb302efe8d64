import { isRecord, ownValue } from "./parse.ts";

/**
 * A scope as the rules read it (specification, Scope): every list is there, `allowServiceCli` has
 * become a role.
 */
export interface Scope {
  readonly roles: readonly ScopeRole[];
  readonly projects: readonly string[];
  readonly spaces: readonly { readonly project: string; readonly space: string }[];
  readonly virtualClusters: readonly {
    readonly project: string;
    readonly virtualCluster: string;
  }[];
  readonly clusters: readonly string[];
  readonly rules: readonly ScopeRule[];
}

/** A named bundle of permissions; an empty list does not narrow. */
export interface ScopeRole {
  readonly role: string;
  readonly projects: readonly string[];
  readonly virtualClusters: readonly string[];
}

/**
 * Requests described one by one (specification, rules entry); an empty list or text does not
 * restrict.
 */
export interface ScopeRule {
  readonly verbs: readonly string[];
  readonly resources: readonly ScopeResources[];
  readonly resourceNames: readonly string[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly requestTargets: readonly string[];
  readonly cluster: string;
  readonly virtualClusters: readonly { readonly name: string; readonly namespace: string }[];
}

/** Resources of one API group; no resources are all of the group. */
export interface ScopeResources {
  readonly group: string;
  readonly resources: readonly string[];
}

/** A credential's limit: none at all, a scope, or one that cannot be read. */
export type ScopeLimit = Scope | "none" | "unreadable";

/** The role that `allowServiceCli` adds. */
export const serviceCLI = "serviceCLI";

/**
 * A scope as it was sent; undefined when any part of it cannot be read: a value of another type, or
 * a field that is not known here and might narrow. Such a scope allows nothing.
 */
export function parseScope(raw: unknown): Scope | undefined {
  try {
    return readScope(raw);
  } catch (error) {
    if (error instanceof UnreadableScope) return undefined;
    throw error;
  }
}

/** What `spec.scope` limits a credential to; a spec without one does not limit. */
export function parseScopeLimit(raw: unknown): ScopeLimit {
  return raw === undefined ? "none" : (parseScope(raw) ?? "unreadable");
}

/**
 * A scope as a spec writes it, without what is empty: what {@link parseScope} reads as the same
 * scope.
 */
export function writeScope({
  projects,
  clusters,
  ...others
}: Scope): Readonly<Record<string, unknown>> {
  const whole = {
    ...others,
    projects: projects.map((project) => ({ project })),
    clusters: clusters.map((cluster) => ({ cluster })),
  };
  return withoutEmpty(whole);
}

function withoutEmpty(fields: object): Readonly<Record<string, unknown>> {
  const entries = Object.entries(fields).filter(
    ([, value]: [string, unknown]) => value !== "" && !(Array.isArray(value) && value.length === 0),
  );
  const lean = (value: unknown): unknown =>
    isRecord(value) ? withoutEmpty(value) : Array.isArray(value) ? value.map(lean) : value;
  return Object.fromEntries(entries.map(([name, value]: [string, unknown]) => [name, lean(value)]));
}

class UnreadableScope extends Error {}

/**
 * Limits of all lists and strings of a scope together (config/policies/bounds.yaml), which bound
 * the cost of checks.
 */
export const scopeBounds = { rules: 64, entries: 1_000, characters: 65_536 } as const;

function readScope(raw: unknown): Scope {
  return new ScopeReader().scope(raw);
}

/** Reads one scope, and counts what it reads: it stops at the first value too many. */
class ScopeReader {
  #entries = 0;
  #characters = 0;

  scope(raw: unknown): Scope {
    const fields = readFields(raw, [
      "roles",
      "projects",
      "spaces",
      "virtualClusters",
      "clusters",
      "rules",
      "allowServiceCli",
    ]);
    const roles = this.#list(fields.roles, (entry) => this.#role(entry));
    const rules = this.#list(fields.rules, (entry) => this.#rule(entry));
    if (rules.length > scopeBounds.rules) throw new UnreadableScope();
    return {
      roles: readFlag(fields.allowServiceCli)
        ? [...roles, { role: serviceCLI, projects: [], virtualClusters: [] }]
        : roles,
      projects: this.#list(fields.projects, (entry) =>
        this.#text(readFields(entry, ["project"]).project),
      ),
      spaces: this.#list(fields.spaces, (entry) => {
        const { project, space } = readFields(entry, ["project", "space"]);
        return { project: this.#text(project), space: this.#text(space) };
      }),
      virtualClusters: this.#list(fields.virtualClusters, (entry) => {
        const { project, virtualCluster } = readFields(entry, ["project", "virtualCluster"]);
        return { project: this.#text(project), virtualCluster: this.#text(virtualCluster) };
      }),
      clusters: this.#list(fields.clusters, (entry) =>
        this.#text(readFields(entry, ["cluster"]).cluster),
      ),
      rules,
    };
  }

  #role(raw: unknown): ScopeRole {
    const { role, projects, virtualClusters } = readFields(raw, [
      "role",
      "projects",
      "virtualClusters",
    ]);
    return {
      role: this.#text(role),
      projects: this.#texts(projects),
      virtualClusters: this.#texts(virtualClusters),
    };
  }

  #rule(raw: unknown): ScopeRule {
    const fields = readFields(raw, [
      "verbs",
      "resources",
      "resourceNames",
      "namespaces",
      "nonResourceURLs",
      "requestTargets",
      "cluster",
      "virtualClusters",
    ]);
    return {
      verbs: this.#texts(fields.verbs),
      resources: this.#list(fields.resources, (entry) => this.#resources(entry)),
      resourceNames: this.#texts(fields.resourceNames),
      namespaces: this.#texts(fields.namespaces),
      nonResourceURLs: this.#texts(fields.nonResourceURLs),
      requestTargets: this.#texts(fields.requestTargets),
      cluster: this.#text(fields.cluster),
      virtualClusters: this.#list(fields.virtualClusters, (entry) => {
        const { name, namespace } = readFields(entry, ["name", "namespace"]);
        return { name: this.#text(name), namespace: this.#text(namespace) };
      }),
    };
  }

  #resources(raw: unknown): ScopeResources {
    const { group, resources } = readFields(raw, ["group", "resources"]);
    return { group: this.#text(group), resources: this.#texts(resources) };
  }

  #texts(raw: unknown): readonly string[] {
    return this.#list(raw, (entry) => this.#text(entry));
  }

  #list<T>(raw: unknown, read: (entry: unknown) => T): readonly T[] {
    if (raw === undefined || raw === null) return [];
    if (!Array.isArray(raw)) throw new UnreadableScope();
    this.#entries += raw.length;
    if (this.#entries > scopeBounds.entries) throw new UnreadableScope();
    return raw.map(read);
  }

  #text(raw: unknown): string {
    if (raw === undefined || raw === null) return "";
    if (typeof raw !== "string") throw new UnreadableScope();
    this.#characters += charactersOf(raw);
    if (this.#characters > scopeBounds.characters) throw new UnreadableScope();
    return raw;
  }
}

/** Unicode code points, as CEL's size counts them; of what is certainly too long, fewer. */
function charactersOf(text: string): number {
  return text.length > 2 * scopeBounds.characters ? text.length / 2 : Array.from(text).length;
}

function readFields<Field extends string>(
  raw: unknown,
  known: readonly Field[],
): Readonly<Partial<Record<Field, unknown>>> {
  if (!isRecord(raw)) throw new UnreadableScope();
  const names: ReadonlySet<string> = new Set(known);
  if (Object.keys(raw).some((name) => !names.has(name))) throw new UnreadableScope();
  const fields: Partial<Record<Field, unknown>> = {};
  for (const name of known) fields[name] = ownValue(raw, name);
  return fields;
}

function readFlag(raw: unknown): boolean {
  if (raw === undefined || raw === null) return false;
  if (typeof raw !== "boolean") throw new UnreadableScope();
  return raw;
}
