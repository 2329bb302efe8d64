import { isOfKind, isRecord, recordAt, stringAt, stringsAt } from "./parse.ts";
import { apiVersionOf, resources } from "./resources.ts";

/** `apiVersion` of the supported SubjectAccessReviews. */
export const accessReviewVersion = apiVersionOf(resources.accessReviews);

/**
 * The resource attributes of a SubjectAccessReview; a field that is not set is the empty string.
 */
export interface ReviewedResource {
  readonly kind: "resource";
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly namespace: string;
}

/** The non-resource attributes of a SubjectAccessReview, such as of a request for `/healthz`. */
export interface ReviewedPath {
  readonly kind: "path";
  readonly verb: string;
  readonly path: string;
}

/** The request under review. */
export type ReviewedRequest = ReviewedResource | ReviewedPath;

/**
 * A SubjectAccessReview (Kubernetes API reference, authorization.k8s.io/v1): the request, and the
 * extras of its user.
 */
export interface AccessReview {
  readonly extra: Readonly<Record<string, unknown>>;
  readonly request: ReviewedRequest;
}

/** Parses a SubjectAccessReview; undefined when it is invalid or has no attributes. */
export function parseAccessReview(raw: unknown): AccessReview | undefined {
  if (!isOfKind(raw, accessReviewVersion, resources.accessReviews.kind)) return undefined;
  const spec = recordAt(raw, "spec");
  const request = reviewedRequest(spec);
  return request === undefined ? undefined : { extra: recordAt(spec, "extra"), request };
}

/** The request that the spec of a review asks about; undefined if it has no attributes. */
export function reviewedRequest(
  spec: Readonly<Record<string, unknown>>,
): ReviewedRequest | undefined {
  return isRecord(spec["resourceAttributes"])
    ? resourceRequest(spec["resourceAttributes"])
    : pathRequest(spec["nonResourceAttributes"]);
}

/** The value of an extra that has exactly one value, else undefined. */
export function soleExtra(
  { extra }: { readonly extra: Readonly<Record<string, unknown>> },
  name: string,
): string | undefined {
  const values = stringsAt(extra, name);
  return values.length === 1 ? values[0] : undefined;
}

function resourceRequest(attributes: unknown): ReviewedRequest {
  const text = (field: string): string => stringAt(attributes, field) ?? "";
  return {
    kind: "resource",
    verb: text("verb"),
    group: text("group"),
    resource: text("resource"),
    subresource: text("subresource"),
    name: text("name"),
    namespace: text("namespace"),
  };
}

function pathRequest(attributes: unknown): ReviewedRequest | undefined {
  if (!isRecord(attributes)) return undefined;
  return {
    kind: "path",
    verb: stringAt(attributes, "verb") ?? "",
    path: stringAt(attributes, "path") ?? "",
  };
}
