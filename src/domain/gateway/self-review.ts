import { type ReviewedRequest, reviewedRequest } from "../../api/access-review.ts";
import { excessIn } from "../../api/bounded-json.ts";
import { isOfKind, isRecord, recordAt, stringAt } from "../../api/parse.ts";
import { readingBounds } from "../../api/reading-bounds.ts";
import { apiVersionOf, resources } from "../../api/resources.ts";
import { namesResource } from "./request-info.ts";
import { reviewInJson, reviewInProtobuf, UnreadReview } from "./review-message.ts";

const { selfAccessReviews, selfRulesReviews } = resources;
const apiVersion = apiVersionOf(selfAccessReviews);

/** What a request asks about its own rights: whether it may do one thing, or what it may do. */
export function selfReviewOf(request: ReviewedRequest): "access" | "rules" | undefined {
  if (request.kind === "path" || request.verb !== "create" || request.subresource !== "")
    return undefined;
  if (request.group !== selfAccessReviews.group) return undefined;
  if (request.resource === selfAccessReviews.plural) return "access";
  return request.resource === selfRulesReviews.plural ? "rules" : undefined;
}

/** The formats of reviews that the gateway reads. */
export type ReviewFormat = "json" | "yaml" | "protobuf";

const formats: ReadonlyMap<string, ReviewFormat> = new Map([
  ["application/json", "json"],
  ["application/yaml", "yaml"],
  ["application/vnd.kubernetes.protobuf", "protobuf"],
]);

/** The format of a media type; undefined for one that is not read. */
export function reviewFormat(contentType: string | undefined): ReviewFormat | undefined {
  const type = (contentType ?? "application/json").split(";", 1)[0]?.trim().toLowerCase();
  return formats.get(type ?? "");
}

/** Whether a client that sends these values of `Accept` takes an object in JSON. */
export function acceptsJson(values: readonly string[]): boolean {
  const accepted = values.join(",").split(",");
  return (
    values.every((value) => value.trim() === "") ||
    accepted.some((range) => {
      const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
      const isJson = ["application/json", "application/*", "*/*"].includes(type);
      return isJson && !parameters.some((one) => /^(?:as=|q=0(?:\.0*)?$)/.test(one));
    })
  );
}

/** A SelfSubjectAccessReview: its spec, and the request that it asks about. */
interface AskedReview {
  readonly kind: "review";
  readonly spec: Readonly<Record<string, unknown>>;
  readonly request: ReviewedRequest;
}

/** Why a review is not read; the reason quotes nothing of it. */
interface MalformedReview {
  readonly kind: "malformed";
  readonly reason: string;
}

/** Reads a review out of its bytes in protobuf, or out of parsed JSON or YAML. */
export function readReview(raw: unknown): AskedReview | MalformedReview {
  try {
    const read = raw instanceof Uint8Array ? reviewInProtobuf(raw) : reviewInJson(raw);
    const { kind = "" } = read;
    const { apiVersion: version = "" } = read;
    if (
      (kind !== "" && kind !== selfAccessReviews.kind) ||
      (version !== "" && version !== apiVersion)
    )
      return malformed(`the body must be a ${selfAccessReviews.kind} of ${apiVersion}`);
    const spec = recordAt(read, "spec");
    const request = reviewedRequest(spec);
    return request === undefined || Object.keys(spec).length !== 1
      ? malformed("spec must have either resourceAttributes or nonResourceAttributes")
      : { kind: "review", spec, request };
  } catch (error) {
    if (error instanceof UnreadReview) return malformed(error.message);
    throw error;
  }
}

function malformed(reason: string): MalformedReview {
  return { kind: "malformed", reason };
}

/** Why no request is what is asked about; undefined for any other question. */
export function unaskable(request: ReviewedRequest): string | undefined {
  return request.kind === "path" && namesResource(request.path)
    ? "this path is that of a resource; ask about the resource"
    : undefined;
}

/**
 * A review in JSON about the request as it is sent. kube-apiserver reads this text, and so judges
 * what the gateway has read, whatever the client wrote.
 */
export function reviewText({ spec }: AskedReview, sent: ReviewedRequest): string {
  return JSON.stringify(objectOf(specOf(spec, sent)));
}

/** The answer that the scope does not allow what is asked. */
export function deniedReview({ spec }: AskedReview, reason: string): string {
  return JSON.stringify({ ...objectOf(spec), status: { allowed: false, denied: true, reason } });
}

function objectOf(spec: unknown): object {
  return { kind: selfAccessReviews.kind, apiVersion, metadata: {}, spec };
}

function specOf(spec: AskedReview["spec"], sent: ReviewedRequest): object {
  if (sent.kind === "path") return spec;
  const attributes = recordAt(spec, "resourceAttributes");
  return { resourceAttributes: { ...attributes, namespace: sent.namespace } };
}

const narrowed =
  "the credential narrows these rules; ask about one request, as kubectl auth can-i does";

/**
 * A SelfSubjectRulesReview of the API server that says that it is not all: no list of rules says
 * what a scope leaves of them. Undefined for any other answer.
 */
export function incompleteRules(text: string): string | undefined {
  const bounds = readingBounds.rulesReview;
  if (text.length > bounds.bytes || excessIn(text, bounds) !== undefined) return undefined;
  const review = parsed(text);
  if (!isOfKind(review, apiVersion, selfRulesReviews.kind) || !isRecord(review)) return undefined;
  const status = recordAt(review, "status");
  const known = stringAt(status, "evaluationError") ?? "";
  const evaluationError = [known, narrowed].filter((reason) => reason !== "").join("; ");
  return JSON.stringify({ ...review, status: { ...status, incomplete: true, evaluationError } });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
