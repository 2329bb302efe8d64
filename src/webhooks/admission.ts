import jsonPatch from "fast-json-patch";
import type { KeyBook } from "../access/key-book.ts";
import { type AdmissionRequest, admissionReviewVersion, parseAdmissionReview } from "../api/admission-review.ts";
import { recordAt, stringAt } from "../api/parse.ts";
import { deprecationWarnings } from "../domain/deprecated-fields.ts";
import { type Handler, json } from "../runtime/routes.ts";
import { digestIn, missingKey, withKey } from "../tokens/admitted-key.ts";
import { badReview, readJson } from "./review.ts";

/** How an AdmissionReview ended, for metrics. */
export type AdmissionResult = "allowed" | "changed" | "refused";

/** What AdmissionReviews are answered from. */
export interface AdmissionDeps {
  readonly book: Pick<KeyBook, "holderOf">;
  readonly onResult: (result: AdmissionResult) => void;
}

/** Answers AdmissionReviews of access keys: fills in a key that is missing, and refuses one that another object holds. Nothing is written. */
export function keyAdmissionHandler(deps: AdmissionDeps): Handler {
  return (request) => {
    const asked = parseAdmissionReview(readJson(request));
    if (asked === undefined) return badReview("AdmissionReview", admissionReviewVersion);
    const { result, ...response } = admit(asked, deps);
    deps.onResult(result);
    return json({ apiVersion: admissionReviewVersion, kind: "AdmissionReview", response: { uid: asked.uid, ...response } });
  };
}

interface Admission {
  readonly result: AdmissionResult;
  readonly allowed: boolean;
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string };
  readonly patchType?: "JSONPatch";
  /** Base64 of a JSON Patch (RFC 6902). */
  readonly patch?: string;
  readonly warnings?: readonly string[];
}

function admit({ object, oldObject }: AdmissionRequest, { book }: AdmissionDeps): Admission {
  const said = deprecationWarnings(object);
  const warnings = said.length === 0 ? {} : { warnings: said };
  const key = missingKey(object, oldObject);
  const digest = digestIn(object);
  const uid = stringAt(recordAt(object, "metadata"), "uid");
  const holder = digest === undefined || digest === digestIn(oldObject) ? undefined : book.holderOf(digest);
  if (holder !== undefined && holder.uid !== uid) {
    const message = "spec.key is the key of another OwnedAccessKey, which keeps it; set another one, or leave it empty to have one made";
    return { result: "refused", allowed: false, status: { code: 422, reason: "Invalid", message } };
  }
  if (key === undefined) return { result: "allowed", allowed: true, ...warnings };
  const patch = Buffer.from(JSON.stringify(jsonPatch.compare(object, withKey(object, key))), "utf8").toString("base64");
  return { result: "changed", allowed: true, patchType: "JSONPatch", patch, ...warnings };
}
