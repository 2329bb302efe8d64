import { isRecord, isTrueAt, recordAt, stringAt, stringsAt } from "./parse.ts";

/** `apiVersion` of the reviews that are answered. */
export const admissionReviewVersion = "admission.k8s.io/v1";

/** Who sent a write (Kubernetes API reference, UserInfo). */
export interface AdmissionUser {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** A create or update under admission review (Kubernetes API reference, AdmissionRequest). */
export interface AdmissionRequest {
  /** Names the review, not an object. */
  readonly uid: string;
  readonly user: AdmissionUser;
  /** Whether nothing will be stored. */
  readonly isDryRun: boolean;
  /** The empty text for cluster-scoped objects. */
  readonly namespace: string;
  /** The object to be stored; contains secrets in plain text. */
  readonly object: Readonly<Record<string, unknown>>;
  /** As it is stored; undefined on a create. */
  readonly oldObject: Readonly<Record<string, unknown>> | undefined;
}

/** Reads an AdmissionReview of a create or an update; undefined when it is none. */
export function parseAdmissionReview(raw: unknown): AdmissionRequest | undefined {
  if (
    stringAt(raw, "apiVersion") !== admissionReviewVersion ||
    stringAt(raw, "kind") !== "AdmissionReview"
  )
    return undefined;
  const request = recordAt(raw, "request");
  const [uid, operation, object, oldObject] = [
    stringAt(request, "uid"),
    stringAt(request, "operation"),
    request["object"],
    request["oldObject"],
  ];
  if (uid === undefined || (operation !== "CREATE" && operation !== "UPDATE") || !isRecord(object))
    return undefined;
  return {
    uid,
    user: parseUser(recordAt(request, "userInfo")),
    isDryRun: isTrueAt(request, "dryRun"),
    namespace: stringAt(request, "namespace") ?? "",
    object,
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
