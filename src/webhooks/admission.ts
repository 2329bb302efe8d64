import jsonPatch from "fast-json-patch";
import {
  type AdmissionRequest,
  admissionReviewVersion,
  parseAdmissionReview,
  type AdmissionUser,
} from "../api/admission-review.ts";
import { group } from "../api/names.ts";
import { recordAt, stringAt, isTrueAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { FieldProblem } from "../domain/shared-secret/data-values.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { type Handler, json } from "../runtime/routes.ts";
import type { AdmissionContext } from "./admission-context.ts";
import { badReview, readJson } from "./review-route.ts";

/** How an AdmissionReview ended, for metrics. */
export const admissionResults = ["allowed", "changed", "refused", "failed"] as const;

/** One of these results. */
type AdmissionResult = (typeof admissionResults)[number];

/** The decision of a step: the object for the next step, or why the write is refused. */
type Decision =
  | { readonly kind: "admitted"; readonly object: AdmissionRequest["object"] }
  | {
      readonly kind: "refused";
      readonly code: RefusalCode;
      readonly message: string;
      readonly cause?: FieldProblem;
    };

/** One rule of admission; it gets the object as changed by the steps before it. */
export type AdmissionStep = (
  request: AdmissionRequest,
  context: AdmissionContext,
) => Decision | Promise<Decision>;

/** What is asked about a write, and who counts the answers. */
interface Admission {
  readonly steps: readonly AdmissionStep[];
  /** Warnings for the user of the request. */
  readonly warningsOf?: (request: AdmissionRequest, context: AdmissionContext) => readonly string[];
  readonly onResult: (result: AdmissionResult) => void;
}

interface AdmissionResponse {
  readonly allowed: boolean;
  readonly status?: {
    readonly code: number;
    readonly reason: string;
    readonly message: string;
    readonly details?: object;
  };
  readonly patchType?: "JSONPatch";
  /** Base64 of a JSON Patch (RFC 6902). */
  readonly patch?: string;
  readonly warnings?: readonly string[];
}

const reasonsOf = {
  403: "Forbidden",
  422: "Invalid",
  429: "TooManyRequests",
  503: "ServiceUnavailable",
} as const;

/** The HTTP status with which kube-apiserver answers a refused write. */
type RefusalCode = keyof typeof reasonsOf;

/** Handles AdmissionReviews: every step must admit the write, and may change its object. */
export function admissionHandler(admission: Admission, context: AdmissionContext): Handler {
  return async (request) => {
    const admissionRequest = parseAdmissionReview(readJson(request));
    if (admissionRequest === undefined) return badReview("AdmissionReview", admissionReviewVersion);
    const answered = evaluate(admissionRequest, admission, context);
    const response = await answered.catch((error: unknown) => {
      if (!isKubeError(error)) throw error;
      admission.onResult("failed");
      return refusal(503, "requests to the API server that admission requires failed; retry");
    });
    return json({
      apiVersion: admissionReviewVersion,
      kind: "AdmissionReview",
      response: { uid: admissionRequest.uid, ...response },
    });
  };
}

async function evaluate(
  request: AdmissionRequest,
  { steps, warningsOf, onResult }: Admission,
  context: AdmissionContext,
): Promise<AdmissionResponse> {
  let { object } = request;
  for (const step of steps) {
    const decision = await step({ ...request, object }, context);
    if (decision.kind === "refused") {
      onResult("refused");
      const { code, message, cause } = decision;
      return refusal(code, message, cause && detailsOf(request.object, cause));
    }
    ({ object } = decision);
  }
  const messages = warningsOf?.(request, context) ?? [];
  const operations = jsonPatch.compare(request.object, object);
  const warnings = messages.length === 0 ? {} : { warnings: messages };
  onResult(operations.length === 0 ? "allowed" : "changed");
  if (operations.length === 0) return { allowed: true, ...warnings };
  return {
    allowed: true,
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(operations), "utf8").toString("base64"),
    ...warnings,
  };
}

/** Admits a write with its object unchanged. */
export function admitted({ object }: Pick<AdmissionRequest, "object">): Decision {
  return { kind: "admitted", object };
}

/** Refuses a write; the message names the field and the fix. */
export function refused(code: RefusalCode, message: string): Decision {
  return { kind: "refused", code, message };
}

/**
 * Refuses the value of a field the way the schema does (422): kubectl prints the field before the
 * message.
 */
export function refusedField(cause: FieldProblem): Decision {
  return { kind: "refused", code: 422, message: `${cause.field}: ${cause.message}`, cause };
}

function refusal(code: RefusalCode, message: string, details?: object): AdmissionResponse {
  return {
    allowed: false,
    status: {
      code,
      reason: reasonsOf[code],
      message,
      ...(details === undefined ? {} : { details }),
    },
  };
}

/** StatusDetails (Kubernetes API reference, Status). */
function detailsOf(object: unknown, cause: FieldProblem): object {
  const metadata = recordAt(object, "metadata");
  const name = stringAt(metadata, "name") ?? stringAt(metadata, "generateName") ?? "";
  return {
    name,
    group,
    kind: stringAt(object, "kind") ?? "",
    causes: [{ reason: "FieldValueInvalid", ...cause }],
  };
}

/** The attributes of a resource request (Kubernetes API reference, ResourceAttributes). */
interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  readonly namespace?: string;
}

/** Whether the API server would allow the user's request, by a SubjectAccessReview. */
export async function isAllowed(
  { username, uid, groups, extra }: AdmissionUser,
  resourceAttributes: ResourceAttributes,
  { client }: AdmissionContext,
): Promise<boolean> {
  const answer = await client.review(resources.accessReviews, {
    user: username,
    uid,
    groups,
    extra,
    resourceAttributes,
  });
  return isTrueAt(recordAt(answer, "status"), "allowed");
}
