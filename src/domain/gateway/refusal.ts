/** An answer of the gateway itself (Kubernetes API reference, Status). */
export interface Refusal {
  readonly kind: "refusal";
  readonly status: number;
  /** For metrics and logs. */
  readonly cause: RefusalCause;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Why the gateway answers itself. */
export const refusalCauses = [
  "malformed",
  "method",
  "unauthenticated",
  "not-ready",
  "identity",
  "impersonation",
  "scope",
  "not-found",
  "limit",
  "too-large",
  "upstream",
  "timeout",
] as const;

/** One of these causes. */
export type RefusalCause = (typeof refusalCauses)[number];

const reasons: ReadonlyMap<number, string> = new Map([
  [400, "BadRequest"],
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotFound"],
  [405, "MethodNotAllowed"],
  [413, "RequestEntityTooLarge"],
  [415, "UnsupportedMediaType"],
  [422, "Invalid"],
  [429, "TooManyRequests"],
  [500, "InternalError"],
  [502, "InternalError"],
  [503, "ServiceUnavailable"],
  [504, "Timeout"],
]);

/** The one answer to every credential that is not valid, and to none (as kube-apiserver's). */
export const unauthorized: Refusal = {
  kind: "refusal",
  status: 401,
  cause: "unauthenticated",
  message: "Unauthorized",
  headers: { "www-authenticate": "Bearer" },
};

/** A refusal with a status and a sentence. */
export function refusal(status: number, cause: RefusalCause, message: string): Refusal {
  const isTemporary = status === 429 || status === 503;
  return {
    kind: "refusal",
    status,
    cause,
    message,
    ...(isTemporary ? { headers: { "retry-after": "1" } } : {}),
  };
}

/** The answer to a request about which the gateway could not decide because of a defect. */
export const internalError = refusal(500, "upstream", "internal error");

/** The answer to a request that has none yet when the gateway stops. */
export const gatewayStops = refusal(503, "not-ready", "the gateway stops; retry");

/** A refusal as the object that kubectl prints. */
export function statusObject({
  status,
  message,
}: Pick<Refusal, "status" | "message">): Readonly<Record<string, unknown>> {
  const reason = reasons.get(status);
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === undefined ? {} : { reason }),
    code: status,
  };
}

/**
 * The message of a refusal as a header (Kubernetes API concepts, "Warnings"): kubectl prints it. Of
 * an error that answers its API discovery, it does not read the Status, so that a user would see
 * `unknown`. None for any other target, where the message would be printed twice, and for a 401.
 */
export function discoveryWarning(
  target: string,
  { status, message }: Pick<Refusal, "status" | "message">,
): Readonly<Record<string, string>> {
  if (status === 401 || !/\/apis?(?:$|\?)/.test(target)) return {};
  return { warning: `299 - ${JSON.stringify(message.replaceAll(/[^ -~]/g, "?"))}` };
}
