import { readingBounds } from "../../api/reading-bounds.ts";
import { hasValidPercents, percentDecoded } from "./query.ts";

/**
 * What the name of a cluster, project, space or virtual cluster looks like in a path of the gateway
 * and in the audience of a token, as the source of a regular expression.
 */
export const upstreamNamePattern = "[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?";

/** The API server that a request of the gateway is for, as its path names it. */
export type Upstream =
  | { readonly kind: "management" }
  | { readonly kind: "cluster"; readonly cluster: string }
  | { readonly kind: "space"; readonly project: string; readonly space: string }
  | {
      readonly kind: "virtual-cluster";
      readonly project: string;
      readonly virtualCluster: string;
    };

/**
 * A request target (RFC 9112, section 3.2.1) that was understood: `path` and `query` are the text
 * that was sent, `prefix` is what names the upstream. `path` begins with a slash; `query` is empty
 * or begins with a question mark.
 */
export interface RequestTarget {
  readonly kind: "target";
  /** Undefined if the gateway serves nothing there. */
  readonly upstream: Upstream | undefined;
  readonly prefix: string;
  readonly path: string;
  readonly query: string;
}

/** A target that two programs could understand in two ways; the reason does not quote it. */
export interface MalformedTarget {
  readonly kind: "malformed";
  readonly reason: string;
}

/**
 * Reads the target of a request. Nothing is normalized: a target that would have to be is
 * malformed, so that kube-apiserver reads exactly the text that was judged here.
 */
export function readTarget(
  text: string,
  routes: Routes = gatewayRoutes,
): RequestTarget | MalformedTarget {
  const queryAt = text.indexOf("?");
  const path = queryAt < 0 ? text : text.slice(0, queryAt);
  const query = queryAt < 0 ? "" : text.slice(queryAt);
  const problem = textProblem(text) ?? pathProblem(path) ?? queryProblem(query);
  return problem === undefined
    ? { kind: "target", query, ...upstreamOf(path, routes) }
    : { kind: "malformed", reason: problem };
}

/** The target of a request without the prefix that names its upstream. */
export function upstreamTarget({ path, query }: Pick<RequestTarget, "path" | "query">): string {
  return path + query;
}

/** Why a target is malformed by its length and its characters alone, whatever it names. */
export function textProblem(text: string): string | undefined {
  if (text.length > readingBounds.requestTarget.bytes)
    return `the request target must have at most ${readingBounds.requestTarget.bytes} characters`;
  if (!text.startsWith("/")) return "the request target must be a path that begins with one slash";
  if (!/^[\x21-\x7e]*$/.test(text))
    return "the request target must consist of printable ASCII characters; percent-encode others";
  if (/[#\\]/.test(text)) return "the request target must not contain # or a backslash";
  return hasValidPercents(text)
    ? undefined
    : "every percent sign in the request target must be followed by two hexadecimal digits";
}

function pathProblem(path: string): string | undefined {
  const relaxedFrom = proxiedPathAt(path);
  return (
    segmentsProblem(path.slice(0, relaxedFrom), false) ??
    segmentsProblem(path.slice(relaxedFrom), true)
  );
}

/**
 * The proxy subresources of Kubernetes (API reference, "Proxy Operations"): what follows is a path
 * of the backend.
 */
const proxied =
  /\/api\/v1\/(?:namespaces\/[^/%]+\/(?:pods|services)\/[^/%]+|nodes\/[^/%]+)\/proxy(?=\/)/;

/** Where the path of a proxied backend begins; the length of the path if it has none. */
function proxiedPathAt(path: string): number {
  const match = proxied.exec(path);
  return match === null ? path.length : match.index + match[0].length;
}

function segmentsProblem(path: string, isProxied: boolean): string | undefined {
  if (!isProxied && path.includes("//")) return "the path must not contain empty segments (//)";
  if (!isProxied && /%2f/i.test(path)) return "the path must not contain %2F";
  if (/%5c|%00/i.test(path)) return "the path must not contain %5C or %00";
  const decoded = percentDecoded(path);
  if (decoded === undefined) return "the path must be percent-encoded UTF-8";
  if (/\p{Cc}/u.test(decoded)) return "the path must not contain control characters";
  return decoded.split("/").some((segment) => segment === "." || segment === "..")
    ? "the path must not contain the segments . or .."
    : undefined;
}

function queryProblem(query: string): string | undefined {
  if (query.includes(";")) return "the query must not contain a semicolon; encode it as %3B";
  return query.split("&").length > readingBounds.requestTarget.values
    ? `the query must have at most ${readingBounds.requestTarget.values} parameters`
    : undefined;
}

const name = `(${upstreamNamePattern})`;

/** The prefixes of paths that are served, and what each names. */
export type Routes = readonly {
  readonly pattern: RegExp;
  /** The prefix in messages. */
  readonly form: string;
  readonly upstream: (names: readonly string[]) => Upstream;
}[];

/** The paths of the gateway (specification, "HTTP interface"; vendor's clusters and spaces). */
export const gatewayRoutes: Routes = [
  {
    pattern: /^\/kubernetes\/management(?=\/|$)/,
    form: "/kubernetes/management",
    upstream: () => ({ kind: "management" }),
  },
  {
    pattern: new RegExp(`^/kubernetes/cluster/${name}(?=/|$)`),
    form: "/kubernetes/cluster/CLUSTER",
    upstream: ([cluster = ""]) => ({ kind: "cluster", cluster }),
  },
  {
    pattern: new RegExp(`^/kubernetes/project/${name}/virtualcluster/${name}(?=/|$)`),
    form: "/kubernetes/project/PROJECT/virtualcluster/NAME",
    upstream: ([project = "", virtualCluster = ""]) => ({
      kind: "virtual-cluster",
      project,
      virtualCluster,
    }),
  },
  {
    pattern: new RegExp(`^/kubernetes/project/${name}/space/${name}(?=/|$)`),
    form: "/kubernetes/project/PROJECT/space/NAME",
    upstream: ([project = "", space = ""]) => ({ kind: "space", project, space }),
  },
];

/** The paths of the direct endpoint of a cluster, which they do not name. */
export function directRoutes(upstream: Upstream): Routes {
  const form = "/kubernetes/cluster";
  return [{ pattern: /^\/kubernetes\/cluster(?=\/|$)/, form, upstream: () => upstream }];
}

/** Where the paths of every API server begin; of any other path nothing is quoted. */
const apiRoot = /^\/(?:apis?|openapi|version|healthz|livez|readyz)(?=\/|$)/;

/** Why no route has a path, and what the address in a kubeconfig ends with. */
export function unservedText(path: string, routes: Routes): string {
  const [root] = apiRoot.exec(path) ?? [];
  return (
    `nothing is served at ${root === undefined ? "this path" : `the path ${root}`}; the address ` +
    `of the server in the kubeconfig must end with ${routes.map(({ form }) => form).join(" or ")}`
  );
}

function upstreamOf(
  path: string,
  routes: Routes,
): Pick<RequestTarget, "upstream" | "prefix" | "path"> {
  for (const { pattern, upstream } of routes) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const [prefix, ...names] = match;
    return { upstream: upstream(names), prefix, path: path.slice(prefix.length) || "/" };
  }
  return { upstream: undefined, prefix: "", path };
}
