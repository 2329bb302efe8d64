import { type HttpRequest, type HttpResponse, plain } from "../runtime/routes.ts";

/** Parses the body of a request as JSON; undefined if it is invalid. */
export function readJson({ body }: HttpRequest): unknown {
  try {
    const parsed: unknown = JSON.parse(body);
    return parsed;
  } catch {
    // The error is dropped, because it quotes the body.
    return undefined;
  }
}

/** The response to a body that is not a valid review. */
export function badReview(kind: string, apiVersion: string): HttpResponse {
  return plain(
    400,
    `request body is not a valid ${kind} of ${apiVersion}; start kube-apiserver with the flags and files of kubectl latchkey trust-config --authorization`,
  );
}
