import type { ReviewedRequest } from "../../api/access-review.ts";
import { listAt, recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { parseQuery } from "./query.ts";
import { kindInBody } from "./object-defaults.ts";

/** Whether a request creates a token that will be stored, whose client waits for `status.token`. */
export function mintsToken(request: ReviewedRequest, query: string): boolean {
  return (
    kindInBody(request) === resources.endpointTokens.kind &&
    request.verb === "create" &&
    !parseQuery(query).some(([name]) => name === "dryRun")
  );
}

/** The name of an object that the API server sent. */
export function nameOfObject(object: unknown): string | undefined {
  return stringAt(recordAt(object, "metadata"), "name");
}

/** Whether waiting for the token of an object has an end: it has one, or never will. */
export function isMintOver(object: unknown): boolean {
  const status = recordAt(object, "status");
  const hasToken = (stringAt(status, "token") ?? "") !== "";
  return (
    hasToken ||
    listAt(status, "conditions").some(
      (condition) =>
        stringAt(condition, "type") === "Stalled" && stringAt(condition, "status") === "True",
    )
  );
}
