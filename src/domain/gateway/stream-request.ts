import type { ReviewedRequest } from "../../api/access-review.ts";
import { parseQuery, valuesOf } from "./query.ts";

/** Whether a request reaches a backend through the API server (pods, services and nodes proxy). */
export function isProxied(request: ReviewedRequest): boolean {
  return (
    request.kind === "resource" && (request.subresource === "proxy" || request.verb === "proxy")
  );
}

/**
 * Whether the answer may be open for as long as the client likes: a watch, a log that is followed,
 * or the answer of a backend.
 */
export function isStream(request: ReviewedRequest, query: string): boolean {
  if (request.kind === "path") return false;
  if (request.verb === "watch" || isProxied(request)) return true;
  return request.subresource === "log" && valuesOf(parseQuery(query), "follow").length > 0;
}
