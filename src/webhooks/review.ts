import { type HttpRequest, type HttpResponse, plain } from "../runtime/routes.ts";

/** The JSON of a request; undefined when it is none. */
export function readJson({ body }: HttpRequest): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return parsed;
  } catch {
    // The error of JSON.parse quotes the text.
    return undefined;
  }
}

/** The answer to what is not the review that is answered here. */
export function badReview(kind: string, apiVersion: string): HttpResponse {
  return plain(
    400,
    `request body is not a valid ${kind} of ${apiVersion}; start kube-apiserver with the flags and files of latchkey trust-config --authorization`,
  );
}

/** The message while the access key cache is not fresh. */
export const notSyncedMessage = "access key cache not synced; retry";
