import type { IncomingMessage } from "node:http";

/** A request to the API server, in the terms by which faults select requests. */
export interface ApiRequest {
  readonly method: string;
  /** The path with its query, as received. */
  readonly path: string;
  readonly kind: "list" | "watch" | "get" | "write" | "lease";
  /** Whether this is a streaming list. */
  readonly isStreamed: boolean;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  /** The collection with its selectors: the same for the list and the watch of one informer. */
  readonly selection: string;
}

const pattern =
  /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/(?!finalize$)))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/;

/** Reads method and path (Kubernetes API concepts, "Resource URIs"). */
export function apiRequest({
  method = "GET",
  url = "/",
}: Pick<IncomingMessage, "method" | "url">): ApiRequest {
  const { pathname, searchParams } = new URL(url, "http://proxy");
  const [, namespace, plural = "", name, subresource] = pattern.exec(pathname) ?? [];
  const selection = [pathname, searchParams.get("labelSelector"), searchParams.get("fieldSelector")]
    .filter((part) => part !== null)
    .join("?");
  const isStreamed = searchParams.has("sendInitialEvents");
  return {
    method,
    path: url,
    isStreamed,
    kind: kindOf(method, plural, {
      name,
      isWatch: searchParams.has("watch") && !isStreamed,
      isQuestion: searchParams.has("dryRun") || plural.endsWith("reviews"),
    }),
    plural,
    namespace,
    name,
    subresource,
    selection,
  };
}

interface Hints {
  readonly name: string | undefined;
  readonly isWatch: boolean;
  readonly isQuestion: boolean;
}

/** A dry run or a review changes nothing, so it does not count as a write. */
function kindOf(
  method: string,
  plural: string,
  { name, isWatch, isQuestion }: Hints,
): ApiRequest["kind"] {
  // That of the election; those of agents are listed and watched.
  if (plural === "leases" && (method !== "GET" || name !== undefined)) return "lease";
  if (method !== "GET" && !isQuestion) return "write";
  if (name !== undefined || isQuestion) return "get";
  return isWatch ? "watch" : "list";
}
