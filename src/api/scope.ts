import { isRecord, ownValue } from "./parse.ts";

/**
 * A parsed scope (specification, Scope): absent lists are empty, and `allowServiceCli` is a role.
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

/** A named bundle of permissions; an empty list does not restrict. */
export interface ScopeRole {
  readonly role: string;
  readonly projects: readonly string[];
  readonly virtualClusters: readonly string[];
}

/**
 * A rule that covers requests (specification, rules entry); an empty list or string does not
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

/** Resources of one API group; an empty list means all resources of the group. */
export interface ScopeResources {
  readonly group: string;
  readonly resources: readonly string[];
}

/** The limit of a credential: no scope, a scope, or an invalid scope, which allows nothing. */
export type ScopeLimit = Scope | "none" | "unreadable";

/** The role that `allowServiceCli` adds. */
export const serviceCLI = "serviceCLI";

/**
 * Parses a scope; undefined if any part is invalid: a value of the wrong type, an unknown field
 * (which might restrict), or a size above {@link scopeBounds}. An invalid scope allows nothing.
 */
export function parseScope(raw: unknown): Scope | undefined {
  try {
    return readScope(raw);
  } catch (error) {
    if (error instanceof UnreadableScope) return undefined;
    throw error;
  }
}

/** Parses `spec.scope` into the limit of a credential; "none" without a scope. */
export function parseScopeLimit(raw: unknown): ScopeLimit {
  return raw === undefined ? "none" : (parseScope(raw) ?? "unreadable");
}

/** The scope as JSON of a spec, without empty fields; the inverse of {@link parseScope}. */
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
 * Maximum number of rules, and of list entries and characters in the whole scope
 * (config/policies/bounds.yaml); they bound the cost of checks.
 */
export const scopeBounds = { rules: 64, entries: 1_000, characters: 65_536 } as const;

function readScope(raw: unknown): Scope {
  return new ScopeReader().scope(raw);
}

/**
 * Parses one scope and counts its entries and characters; throws at the first one above a limit.
 */
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

/**
 * Number of Unicode code points, like CEL's `size`; a lower bound for a string that is too long in
 * any case.
 */
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
