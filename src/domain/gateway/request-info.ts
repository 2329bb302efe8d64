import type { ReviewedRequest, ReviewedResource } from "../../api/access-review.ts";
import { withoutEnd } from "../../api/text-end.ts";
import { isLabelSelector } from "./label-selector.ts";
import { percentDecoded, parseQuery, type QueryParameters, parameterValues } from "./query.ts";
import type { MalformedTarget, RequestTarget } from "./request-target.ts";

/** HTTP methods that the gateway forwards. */
export const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/** One of these methods. */
export type Method = (typeof methods)[number];

/** Verbs of resource requests by HTTP method (Kubernetes, "Authorization Overview"). */
const verbs: Readonly<Record<Method, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** Subresources of a namespace, which are no resources inside it. */
const namespaceSubresources: readonly string[] = ["status", "finalize"];

/**
 * What a request asks for, exactly as kube-apiserver's RequestInfo (k8s.io/apiserver,
 * endpoints/request) understands it. What kube-apiserver itself cannot understand, or reads in
 * another way than it acts, is malformed.
 */
export function requestInfo(
  method: Method,
  { path, query }: Pick<RequestTarget, "path" | "query">,
): ReviewedRequest | MalformedTarget {
  const decoded = percentDecoded(path);
  if (decoded === undefined) return malformed("the path must be percent-encoded UTF-8");
  const steps = resourceSteps(decoded);
  if (steps === undefined) return { kind: "path", verb: method.toLowerCase(), path: decoded };
  const [first = ""] = steps.parts;
  const isSpecial = first === "watch" || first === "proxy";
  const parts = isSpecial ? steps.parts.slice(1) : steps.parts;
  if (parts.length === 0) return malformed("the path names no resource");
  const found = named(parts, isSpecial ? first : verbs[method]);
  const resource: ReviewedResource = { kind: "resource", group: steps.group, ...found };
  if (resource.name !== "") return resource;
  if (resource.verb === "delete") return { ...resource, verb: "deletecollection" };
  return resource.verb === "get" ? collection(resource, parseQuery(query)) : resource;
}

interface ResourceSteps {
  readonly group: string;
  /** What follows the version. */
  readonly parts: readonly string[];
}

/** Whether a decoded path is that of a resource, so that no request for it is one for a path. */
export function namesResource(path: string): boolean {
  return resourceSteps(path) !== undefined;
}

/** The steps of a resource path; undefined for any other path. */
function resourceSteps(path: string): ResourceSteps | undefined {
  const steps = withoutEnd(path.replace(/^\/+/, ""), "/").split("/");
  if (steps.length < 3) return undefined;
  const [prefix, ...others] = steps;
  if (prefix === "api") return { group: "", parts: others.slice(1) };
  if (prefix !== "apis" || others.length < 3) return undefined;
  const [group = ""] = others;
  return { group, parts: others.slice(2) };
}

function named(
  parts: readonly string[],
  verb: string,
): Pick<ReviewedResource, "verb" | "resource" | "subresource" | "name" | "namespace"> {
  const isInNamespaces = parts[0] === "namespaces";
  const namespace = (isInNamespaces ? parts[1] : undefined) ?? "";
  const isInside =
    isInNamespaces && parts.length > 2 && !namespaceSubresources.includes(parts[2] ?? "");
  const [resource = "", name = "", subresource = ""] = isInside ? parts.slice(2) : parts;
  return {
    verb,
    namespace,
    resource,
    name,
    subresource: verb === "proxy" ? "" : subresource,
  };
}

/** A read of a collection: list or watch, and the one name that its field selector asks for. */
function collection(
  resource: ReviewedResource,
  parameters: QueryParameters,
): ReviewedResource | MalformedTarget {
  const [watch, ...otherWatches] = parameterValues(parameters, "watch");
  const watchCount = parameters.filter(([name]) => name === "watch").length;
  if (otherWatches.length > 0) return malformed("the query must contain watch at most once");
  if (watchCount > 0 && !/^[A-Za-z0-9]*$/.test(watch ?? "-"))
    return malformed("watch in the query must be true or false");
  const isWatch = watchCount > 0 && watch !== "0" && watch?.toLowerCase() !== "false";
  const name = nameOfSelection(parameters);
  if (typeof name !== "string") return name;
  return { ...resource, verb: isWatch ? "watch" : "list", name };
}

function malformed(reason: string): MalformedTarget {
  return { kind: "malformed", reason };
}

/**
 * The name that the field selector of a list or watch requires (`metadata.name=...`), which
 * kube-apiserver authorizes like a request for that object; empty if it requires none. Malformed is
 * what kube-apiserver would refuse or read in another way.
 */
export function nameOfSelection(parameters: QueryParameters): string | MalformedTarget {
  const [selector, ...others] = parameterValues(parameters, "fieldSelector");
  const count = parameters.filter(([name]) => name === "fieldSelector").length;
  if (count === 0) return "";
  if (others.length > 0) return malformed("the query must contain fieldSelector at most once");
  if (selector === undefined) return malformed("fieldSelector in the query must be UTF-8");
  const terms = fieldTerms(selector);
  if (terms === undefined) return malformed("fieldSelector in the query is invalid");
  const names = terms.filter(({ field, isEqual }) => field === "metadata.name" && isEqual);
  if (names.length > 1)
    return malformed("fieldSelector in the query must require metadata.name at most once");
  const [required] = names;
  if (required === undefined || /[/%]|^\.{1,2}$/.test(required.value)) return "";
  // With any list option that it cannot read, kube-apiserver authorizes without the name.
  const unreadable = unreadableOption(parameters);
  return unreadable === undefined
    ? required.value
    : malformed(`${unreadable} in the query is invalid`);
}

interface FieldTerm {
  readonly field: string;
  readonly isEqual: boolean;
  readonly value: string;
}

/** The terms of a field selector (k8s.io/apimachinery, fields.ParseSelector). */
function fieldTerms(selector: string): readonly FieldTerm[] | undefined {
  const terms: FieldTerm[] = [];
  for (const text of selector.match(/(?:[^\\,]|\\[^]|\\$)+/g) ?? []) {
    const match = /^([^]*?)(!=|==|=)([^]*)$/.exec(text);
    const value = unescapedValue(match?.[3] ?? "");
    if (match === null || value === undefined) return undefined;
    terms.push({ field: match[1] ?? "", isEqual: match[2] !== "!=", value });
  }
  return terms;
}

/**
 * The value of a term; undefined if a special character is not escaped, or an escape is unknown.
 */
function unescapedValue(text: string): string | undefined {
  if (!/^(?:[^\\,=]|\\[\\,=])*$/.test(text)) return undefined;
  return text.replaceAll(/\\([\\,=])/g, "$1");
}

/** The first list option that kube-apiserver might not be able to read. */
function unreadableOption(parameters: QueryParameters): string | undefined {
  const isUnreadable = (name: string, isValid: (value: string) => boolean): boolean => {
    const values = parameterValues(parameters, name);
    return values.length > 0 && !isValid(values[0] ?? "\u0000");
  };
  const isCount = (value: string): boolean => /^\d{1,18}$/.test(value);
  if (isUnreadable("limit", isCount)) return "limit";
  if (isUnreadable("timeoutSeconds", isCount)) return "timeoutSeconds";
  return isUnreadable("labelSelector", isLabelSelector) ? "labelSelector" : undefined;
}

/** Subresources of pods that run something or open a connection; `*` of a review includes them. */
const connecting: readonly string[] = ["exec", "attach", "portforward", "*"];

/**
 * The requests that a scope must allow: the request itself and, if it connects to a pod or upgrades
 * the connection, the same with the verb create, which kube-apiserver requires with any HTTP
 * method.
 */
export function requiredAccess(
  request: ReviewedRequest,
  isUpgrade: boolean,
): readonly ReviewedRequest[] {
  if (request.kind === "path" || request.verb === "create") return [request];
  const isConnecting =
    request.group === "" && request.resource === "pods" && connecting.includes(request.subresource);
  return isUpgrade || isConnecting ? [request, { ...request, verb: "create" }] : [request];
}
