import type { ReviewedRequest, ReviewedResource } from "../../api/access-review.ts";
import { nameOfSelection } from "./list-selection.ts";
import { percentDecoded } from "./percent-encoding.ts";
import { parseQuery, type QueryParameters, valuesOf } from "./query.ts";
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

/** The steps of a resource path; undefined for any other path. */
function resourceSteps(path: string): ResourceSteps | undefined {
  const steps = path.replace(/^\/+|\/+$/g, "").split("/");
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
  const [watch, ...otherWatches] = valuesOf(parameters, "watch");
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
