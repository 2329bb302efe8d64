import type { ScopeResources, ScopeRule } from "../../api/scope.ts";
import type { ResourceRequest } from "./scoped-request.ts";

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
  return pattern === `${request.resource}/*` || pattern === `*/${request.subresource}`;
}

/**
 * Whether `pattern` covers a path: the same path, every path below it if its last segment is `*`,
 * or every path if it is `*` alone.
 */
export function coversPath(pattern: string, path: string): boolean {
  if (!isPlainPath(path)) return false;
  if (pattern === "*") return true;
  return pattern.endsWith("/*") ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}

/** Whether a path begins with a slash and has no `.` or `..` segment. */
function isPlainPath(path: string): boolean {
  return path.startsWith("/") && !path.split("/").some((step) => step === "." || step === "..");
}

/**
 * Whether a rule has any field about resources; a rule with paths and without these covers only
 * paths (as in audit policy).
 */
export function listsResources({ resources, resourceNames, namespaces }: ScopeRule): boolean {
  return resources.length > 0 || resourceNames.length > 0 || namespaces.length > 0;
}
