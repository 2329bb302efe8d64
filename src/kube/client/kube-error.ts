/** The cause of a failed request, for use in code. */
export type KubeErrorCode =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "TooManyRequests"
  | "ServerError"
  | "Network"
  | "Fenced";

/** The fields of a KubeError in addition to its message. */
export interface KubeErrorDetails {
  readonly code: KubeErrorCode;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** `reason` of the metav1.Status, as the server gave it. */
  readonly reason?: string;
  /** Reasons of `details.causes`, such as `NamespaceTerminating`. */
  readonly causes?: readonly string[];
  /**
   * `details.name` of the metav1.Status: present on a 404 only when the resource itself is served.
   */
  readonly objectName?: string;
  /** Retry-After of the response, in milliseconds. */
  readonly retryAfterMs?: number;
  /** The message of the API server, without any value of the request body. */
  readonly explanation?: string;
  /** Whether RBAC denied the request, independent of the object. */
  readonly lacksPermission?: boolean;
  /** Whether the response has more bytes than the client reads. */
  readonly isResponseTooLarge?: boolean;
  /** Host and port of the server, where a user sees which one failed. */
  readonly host?: string;
}

/** A failed request to the API server; the message contains no value of the request body. */
export class KubeError extends Error {
  readonly code: KubeErrorCode;
  readonly status: number;
  readonly reason: string | undefined;
  readonly causes: readonly string[];
  readonly objectName: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly explanation: string;
  readonly lacksPermission: boolean;
  readonly isResponseTooLarge: boolean;
  readonly host: string | undefined;

  constructor(message: string, details: KubeErrorDetails) {
    super(message);
    this.name = "KubeError";
    this.code = details.code;
    this.status = details.status;
    this.reason = details.reason;
    this.causes = details.causes ?? [];
    this.objectName = details.objectName;
    this.retryAfterMs = details.retryAfterMs;
    this.explanation = details.explanation ?? message;
    this.lacksPermission = details.lacksPermission ?? false;
    this.isResponseTooLarge = details.isResponseTooLarge ?? false;
    this.host = details.host;
  }
}

/** The error of a request without a usable response; `status` is 0 unless the details have one. */
export function networkError(
  { method, path }: { readonly method: string; readonly path: string },
  problem: string,
  details: Partial<KubeErrorDetails> = {},
): KubeError {
  return new KubeError(`${method} ${path}: ${problem}`, { code: "Network", status: 0, ...details });
}

/** Whether the API server rejected the request, so that a retry alone does not succeed. */
export function isRefusal(error: unknown): error is KubeError {
  return (
    isKubeError(error, "Forbidden", "Invalid", "BadRequest") &&
    !error.causes.includes("NamespaceTerminating")
  );
}

/**
 * Whether the API server rejected the object (validation, policy, quota), which requires a change
 * by a user.
 */
export function isRejection(error: unknown): error is KubeError {
  return isRefusal(error) && !error.lacksPermission;
}

/** Whether the API server or etcd cannot take an object because of its size. */
export function isTooLarge({ status, code, explanation }: KubeError): boolean {
  return (
    status === 413 ||
    (code === "ServerError" && /request is too large|message larger than max/.test(explanation))
  );
}

/** Whether `error` is a KubeError of one of these codes. */
export function isKubeError(error: unknown, ...codes: KubeErrorCode[]): error is KubeError {
  return error instanceof KubeError && (codes.length === 0 || codes.includes(error.code));
}
