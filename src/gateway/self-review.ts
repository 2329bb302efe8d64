import { CORE_SCHEMA, load } from "js-yaml";
import type { ReviewedRequest } from "../api/access-review.ts";
import { excessIn } from "../api/bounded-json.ts";
import { readingBounds } from "../api/reading-bounds.ts";
import { type RawHeaders, valuesOfField } from "../domain/gateway/raw-headers.ts";
import { type Refusal, refusal } from "../domain/gateway/refusal.ts";
import type { RequestHead } from "../domain/gateway/request-head.ts";
import { requiredAccess } from "../domain/gateway/request-info.ts";
import {
  acceptsJson,
  deniedReview,
  incompleteRules,
  readReview,
  type ReviewFormat,
  reviewFormat,
  reviewText,
  selfReviewOf,
  unaskable,
} from "../domain/gateway/self-review.ts";
import { authorizationOnlyScope, sentRequest } from "../domain/scope/authorization-only.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { accessRefusal, type AdmittedRequest } from "./admit-request.ts";
import { notReady } from "./credential.ts";
import { hasFewParts } from "./parsed-body.ts";
import { type WholeAnswer, WholeExchange } from "./whole-exchange.ts";

/**
 * Whether a client asks about its own rights with a credential or at a path that narrows them, so
 * that the API server alone would say yes to what the gateway refuses. A key without a scope is
 * narrowed only in what it may do to keys; a review that the gateway does not read is passed on.
 */
export function narrowsReview(
  { request, credential, upstream }: AdmittedRequest,
  { rawHeaders }: RequestHead,
): boolean {
  const asks = selfReviewOf(request);
  if (credential.isScoped || upstream.kind === "space") return asks !== undefined;
  const isAboutKeys = credential.ownKey !== undefined && upstream.kind === "management";
  return asks === "access" && isAboutKeys && readableAs(rawHeaders) !== undefined;
}

/** The format of a review that the gateway can read and answer. */
function readableAs(rawHeaders: RawHeaders): ReviewFormat | undefined {
  const isEncoded = valuesOfField(rawHeaders, "content-encoding").length > 0;
  return isEncoded || !acceptsJson(valuesOfField(rawHeaders, "accept"))
    ? undefined
    : reviewFormat(valuesOfField(rawHeaders, "content-type")[0]);
}

const unsupported = refusal(
  415,
  "malformed",
  "the gateway reads this review in JSON, YAML or protobuf, without Content-Encoding, " +
    "and answers it in JSON",
);
const bodyless = refusal(400, "malformed", "a review must have a body");
const notRules = refusal(
  502,
  "upstream",
  "the API server answered with something else than a SelfSubjectRulesReview of at most 1 MiB",
);

/**
 * Answers a SelfSubjectAccessReview with no where the gateway would refuse the request that it asks
 * about, and else with the API server's answer to what the gateway has read; and a
 * SelfSubjectRulesReview with rules that say that they are not all.
 */
export class SelfReview extends WholeExchange {
  protected override async reply(): Promise<WholeAnswer | Refusal> {
    const format = readableAs(this.exchange.head.rawHeaders);
    if (format === undefined) return unsupported;
    if (this.admitted.framing.kind === "none") return bodyless;
    const body = await this.body.readWhole(this.exchange, readingBounds.selfReview.bytes);
    if (body.kind === "refusal") return body;
    return selfReviewOf(this.admitted.request) === "rules"
      ? this.#rules(body.content)
      : this.#access(body.content, format);
  }

  async #rules(body: Buffer): Promise<WholeAnswer | Refusal> {
    const answer = await this.#ask({ body });
    if (answer.status !== 201) return answer;
    const text = incompleteRules(answer.body.toString("utf8"));
    return text === undefined ? notRules : { ...answer, body: Buffer.from(text) };
  }

  async #access(body: Buffer, format: ReviewFormat): Promise<WholeAnswer | Refusal> {
    const review = readReview(parsedReview(body, format));
    if (review.kind === "malformed") return refusal(400, "malformed", review.reason);
    const sent = await this.#asSent(review.request);
    if (sent.kind === "refusal") return sent;
    const denied = unaskable(sent) ?? (await this.#refusalOf(sent));
    if (typeof denied === "object" && denied.cause !== "scope") return denied;
    if (denied === undefined) {
      const asked = Buffer.from(reviewText(review, sent));
      return this.#ask({ body: asked, contentType: "application/json" });
    }
    const reason = typeof denied === "string" ? denied : denied.message;
    return {
      kind: "answer",
      status: 201,
      rawHeaders: ["content-type", "application/json", "cache-control", "no-cache, private"],
      body: Buffer.from(deniedReview(review, reason.replace(/^forbidden: /, ""))),
    };
  }

  /** The request that is asked about, in the place that it would have. */
  async #asSent(request: ReviewedRequest): Promise<ReviewedRequest | Refusal> {
    if (request.kind === "path") return request;
    const { group, resource } = request;
    try {
      const only = authorizationOnlyScope(group, resource);
      const { discovery } = this.admitted.server;
      return sentRequest(
        request,
        only ?? (await discovery.find(group, resource, this.left.signal)),
      );
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return notReady("API discovery failed; retry");
    }
  }

  #refusalOf(request: ReviewedRequest): Promise<Refusal | undefined> {
    const required = requiredAccess(request, false);
    return accessRefusal({ ...this.admitted, request, required }, this.left);
  }

  #ask(sent: { readonly body: Buffer; readonly contentType?: string }): Promise<WholeAnswer> {
    const { path, query } = this.admitted.target;
    return this.collect({ method: "POST", target: path + query, ...sent });
  }
}

/** What the body of a review says; undefined if it is not in the format. */
export function parsedReview(body: Buffer, format: ReviewFormat): unknown {
  if (format === "protobuf") return body;
  const text = body.toString("utf8");
  try {
    if (format === "yaml")
      return isPlainYaml(text) ? load(text, { schema: CORE_SCHEMA }) : undefined;
    return excessIn(text, readingBounds.selfReview) === undefined ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a text is within the bounds; an anchor would make one of any size out of it. */
function isPlainYaml(text: string): boolean {
  return hasFewParts(text, readingBounds.selfReview.values) && !text.includes("&");
}
