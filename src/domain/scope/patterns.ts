import type { ScopeResources } from "../../api/scope.ts";
import type { ResourceRequest, ScopedRequest } from "./scoped-request.ts";

/**
 * Whether `pattern`, a name or `*` as the whole name, selects a name; a missing or empty name is
 * never selected.
 */
export function selectsName(pattern: string, name: string | undefined): boolean {
  return name !== undefined && name !== "" && (pattern === "*" || pattern === name);
}

/** A resource with its subresource, as in audit policy: `pods/log`. */
export function qualifiedResource({
  resource,
  subresource,
}: Pick<ResourceRequest, "resource" | "subresource">): string {
  return subresource === "" ? resource : `${resource}/${subresource}`;
}

/**
 * Whether an entry covers the resource of a request: `pods` is not `pods/log`, `pods/*` is every
 * subresource of pods but not pods, `*` before `/scale` is one subresource of all, `*` is all of
 * both (specification, rules entry).
 */
export function coversResource(
  { group, resources }: ScopeResources,
  request: ResourceRequest,
): boolean {
  if (group !== request.group) return false;
  return resources.length === 0 || resources.some((pattern) => matchesResource(pattern, request));
}

function matchesResource(pattern: string, request: ResourceRequest): boolean {
  if (pattern === "*" || pattern === qualifiedResource(request)) return true;
  if (request.subresource === "") return false;
  // A question about the subresource `*` is about all, and the pattern `*/*` covers none.
  const isOne = request.subresource !== "*";
  return pattern === `${request.resource}/*` || (isOne && pattern === `*/${request.subresource}`);
}

/**
 * Whether `pattern` covers a path: the same path, every path below it if its last segment is `*`,
 * or every path if it is `*` alone. A path that ends with `*` is a question about all that begin so
 * (Kubernetes, RBAC), of which a pattern without a wildcard covers one at most.
 */
export function coversPath(pattern: string, path: string): boolean {
  if (!isPlainPath(path)) return false;
  if (pattern === "*") return true;
  return pattern.endsWith("/*")
    ? path.startsWith(pattern.slice(0, -1))
    : pattern === path && !path.endsWith("*");
}

/** Whether a path begins with a slash and has no `.` or `..` segment. */
function isPlainPath(path: string): boolean {
  return path.startsWith("/") && !path.split("/").some((step) => step === "." || step === "..");
}

/** Whether a request is for a resource, or for a path that a pattern can cover. */
export function hasPlainPath(request: ScopedRequest): boolean {
  return request.kind === "resource" || isPlainPath(request.path);
}

/** Whether every path that the pattern `child` covers is covered by the pattern `parent`. */
export function pathWithin(child: string, parent: string): boolean {
  return (
    child === parent ||
    parent === "*" ||
    (parent.endsWith("/*") && child.startsWith(parent.slice(0, -1)))
  );
}

/** Whether every resource that an entry covers is covered by one of the parents. */
export function resourceWithin(
  { group, resources }: ScopeResources,
  parents: readonly ScopeResources[],
  sets: NameSets,
): boolean {
  const sameGroup = parents.filter((parent) => parent.group === group);
  if (sameGroup.some((parent) => parent.resources.length === 0 || sets.has(parent.resources, "*")))
    return true;
  return (
    resources.length > 0 &&
    resources.every((pattern) =>
      sameGroup.some((parent) => patternWithin(pattern, parent.resources, sets)),
    )
  );
}

/** Whether a resource pattern is within others, none of which is `*`. */
function patternWithin(child: string, parents: readonly string[], sets: NameSets): boolean {
  if (sets.has(parents, child)) return true;
  const slash = child.indexOf("/");
  return (
    slash > 0 &&
    (sets.has(parents, `${child.slice(0, slash)}/*`) || sets.has(parents, `*${child.slice(slash)}`))
  );
}

/**
 * Lists of names as sets, made at the first lookup, so that comparing two scopes costs one lookup
 * for each name.
 */
export class NameSets {
  readonly #sets = new Map<readonly string[], ReadonlySet<string>>();

  /** Whether a list contains a name. */
  has(names: readonly string[], name: string): boolean {
    if (names.length < 8) return names.includes(name);
    let set = this.#sets.get(names);
    if (set === undefined) {
      set = new Set(names);
      this.#sets.set(names, set);
    }
    return set.has(name);
  }

  /** Whether a list is within another one, which does not restrict if it is empty. */
  isSubset(child: readonly string[], parent: readonly string[]): boolean {
    return (
      parent.length === 0 || (child.length > 0 && child.every((name) => this.has(parent, name)))
    );
  }

  /** Whether a list has names, and each of them, or `*`, is within the patterns. */
  areSelected(names: readonly string[], patterns: readonly string[]): boolean {
    return (
      names.length > 0 &&
      names.every((name) => this.has(patterns, name) || (name !== "" && this.has(patterns, "*")))
    );
  }
}
