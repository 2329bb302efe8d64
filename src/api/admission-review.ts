import { isRecord, recordAt, stringAt } from "./parse.ts";

/** `apiVersion` of the reviews that are answered. */
export const admissionReviewVersion = "admission.k8s.io/v1";

/** A write that the API server asks about before it stores it (Kubernetes API reference, AdmissionRequest). */
export interface AdmissionRequest {
  /** Names the review, not an object. */
  readonly uid: string;
  /** As it will be stored; it holds secrets as they are. */
  readonly object: Readonly<Record<string, unknown>>;
  /** As it is stored; undefined on a create. */
  readonly oldObject: Readonly<Record<string, unknown>> | undefined;
}

/** Reads an AdmissionReview of a create or an update; undefined when it is none. */
export function parseAdmissionReview(raw: unknown): AdmissionRequest | undefined {
  if (stringAt(raw, "apiVersion") !== admissionReviewVersion || stringAt(raw, "kind") !== "AdmissionReview") return undefined;
  const request = recordAt(raw, "request");
  const [uid, operation, object, oldObject] = [stringAt(request, "uid"), stringAt(request, "operation"), request["object"], request["oldObject"]];
  if (uid === undefined || (operation !== "CREATE" && operation !== "UPDATE") || !isRecord(object)) return undefined;
  return { uid, object, oldObject: isRecord(oldObject) ? oldObject : undefined };
}
