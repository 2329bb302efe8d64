import { isOfKind, isRecord, isTrueAt, recordAt, stringAt, stringsAt } from "./parse.ts";

/** `apiVersion` of the supported AdmissionReviews. */
export const admissionReviewVersion = "admission.k8s.io/v1";

/** The user who sent the request (Kubernetes API reference, UserInfo). */
export interface AdmissionUser {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/**
 * A create, an update or a delete under admission review (Kubernetes API reference,
 * AdmissionRequest).
 */
export interface AdmissionRequest {
  /** The uid of the review, not of an object. */
  readonly uid: string;
  readonly user: AdmissionUser;
  /** Whether the request is a dry run, which persists nothing. */
  readonly isDryRun: boolean;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  /** The object to be persisted, empty for a delete; contains secrets in plain text. */
  readonly object: Readonly<Record<string, unknown>>;
  /** The persisted object; undefined on a create. */
  readonly oldObject: Readonly<Record<string, unknown>> | undefined;
}

/** Parses an AdmissionReview of a create, an update or a delete; undefined for any other input. */
export function parseAdmissionReview(raw: unknown): AdmissionRequest | undefined {
  if (!isOfKind(raw, admissionReviewVersion, "AdmissionReview")) return undefined;
  const request = recordAt(raw, "request");
  const [uid, operation, object, oldObject] = [
    stringAt(request, "uid"),
    stringAt(request, "operation"),
    request["object"],
    request["oldObject"],
  ];
  const isDelete = operation === "DELETE" && isRecord(oldObject);
  const isWrite = (operation === "CREATE" || operation === "UPDATE") && isRecord(object);
  if (uid === undefined || !(isDelete || isWrite)) return undefined;
  return {
    uid,
    user: parseUser(recordAt(request, "userInfo")),
    isDryRun: isTrueAt(request, "dryRun"),
    namespace: stringAt(request, "namespace") ?? "",
    object: isRecord(object) && !isDelete ? object : {},
    oldObject: isRecord(oldObject) ? oldObject : undefined,
  };
}

function parseUser(info: Readonly<Record<string, unknown>>): AdmissionUser {
  const extra = recordAt(info, "extra");
  return {
    username: stringAt(info, "username") ?? "",
    uid: stringAt(info, "uid") ?? "",
    groups: stringsAt(info, "groups"),
    extra: Object.fromEntries(Object.keys(extra).map((name) => [name, stringsAt(extra, name)])),
  };
}
