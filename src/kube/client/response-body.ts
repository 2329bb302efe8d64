import { listAt, numberAt, recordAt, stringAt } from "../../api/parse.ts";
import { redact } from "./request-body.ts";
import { KubeError, type KubeErrorCode, networkError } from "./kube-error.ts";
import type { ApiResponse, ApiRequest } from "./transport.ts";

/** Parses the JSON of a response; throws a KubeError for an error status. */
export function bodyOf(call: ApiRequest, answer: ApiResponse): unknown {
  if (answer.status >= 200 && answer.status < 300)
    return answer.json ?? parseJson(call, answer.text);
  throw statusError(call, answer);
}

/**
 * Like {@link bodyOf}, for the user who sent the request: the error of a PATCH or DELETE also has
 * the message of the API server, without the secrets of the body, and that of a missing object its
 * namespace.
 */
export function bodyForUser(call: ApiRequest, answer: ApiResponse): unknown {
  if (answer.status >= 200 && answer.status < 300) return bodyOf(call, answer);
  const status = statusOf(answer);
  const sentence = redact(stringAt(status, "message") || "no explanation", call.body);
  throw errorOf(call, answer, { status, sentence: sentence + placeOfMissing(call, status) });
}

/** The API server names a missing object without its namespace. */
function placeOfMissing({ path }: ApiRequest, status: unknown): string {
  const isMissing = stringAt(status, "reason") === "NotFound";
  const { name, kind } = recordAt(status, "details");
  const [, namespace, last] = /\/namespaces\/([^/?]+)\/[^/?]+\/([^/?]+)(?:\?|$)/.exec(path) ?? [];
  return isMissing && last === name && kind !== "namespaces" && namespace !== undefined
    ? ` in namespace "${namespace}"`
    : "";
}

/** The KubeError of an ERROR event in a watch, whose object is a metav1.Status. */
export function watchError(call: ApiRequest, status: unknown): KubeError {
  const code = numberAt(status, "code") ?? 500;
  return errorOf(call, { status: code, text: "" }, { status, sentence: sentenceOf(call, status) });
}

/** Parses JSON from the response to a call; throws a KubeError that says `what` is no JSON. */
export function parseJson(call: ApiRequest, text: string, what = "response"): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw networkError(call, `${what} is not JSON`);
  }
}

/** The KubeError of a response with an error status. */
export function statusError(call: ApiRequest, answer: ApiResponse): KubeError {
  const status = statusOf(answer);
  return errorOf(call, answer, { status, sentence: sentenceOf(call, status) });
}

/** The metav1.Status of a response; undefined if it is not JSON. */
function statusOf({ text }: ApiResponse): unknown {
  try {
    const status: unknown = JSON.parse(text);
    return status;
  } catch {
    return undefined;
  }
}

function errorOf(
  call: ApiRequest,
  answer: ApiResponse,
  { status, sentence }: { readonly status: unknown; readonly sentence: string },
): KubeError {
  const reason = stringAt(status, "reason");
  const message = stringAt(status, "message") ?? "";
  const details = recordAt(status, "details");
  const causes = listAt(details, "causes").flatMap((cause) => stringAt(cause, "reason") ?? []);
  const objectName = stringAt(details, "name");
  const seconds = numberAt(details, "retryAfterSeconds");
  const retryAfterMs = answer.retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000);
  return new KubeError(`${call.method} ${call.path}: ${answer.status} ${sentence}`, {
    code: codeOf(answer.status, reason),
    status: answer.status,
    causes,
    explanation: sentence,
    lacksPermission: permissionProblems.some((problem) => problem.test(message)),
    ...(reason === undefined ? {} : { reason }),
    ...(objectName === undefined ? {} : { objectName }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/**
 * The messages of RBAC for a denied request and for a grant of more than the caller has,
 * and those of Latchkey's gateway for a scope; admission messages differ after "is forbidden:".
 */
const permissionProblems = [
  /^[^"]*(?:"[^"]*" )?is forbidden: user "/i,
  /^forbidden: the scope of this credential does not allow /i,
];

/**
 * The message of the API server without secrets. An admission policy may quote the object: the
 * message is redacted if the body was the whole object, and only the reason and the name of the
 * policy or webhook are returned after a PATCH or DELETE.
 */
function sentenceOf({ method, body }: ApiRequest, status: unknown): string {
  const message = stringAt(status, "message") || "no explanation";
  if (method !== "PATCH" && method !== "DELETE") return redact(message, body);
  const [, named = stringAt(status, "reason")] =
    byWebhook.exec(message) ?? byPolicy.exec(message) ?? [];
  return named || "no explanation";
}

// How the API server begins these messages.
const byPolicy =
  /^(?:[^':]*: )?(\w+Policy '[a-z\d.-]+' with binding '[a-z\d.-]+' denied request): /;
const byWebhook = /^(admission webhook "[a-z\d.-]+" denied the request): /;

const codes: ReadonlyMap<number, KubeErrorCode> = new Map([
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotFound"],
  [409, "Conflict"],
  [410, "Gone"],
  [422, "Invalid"],
  [429, "TooManyRequests"],
]);

function codeOf(status: number, reason: string | undefined): KubeErrorCode {
  if (reason === "AlreadyExists") return "AlreadyExists";
  if (status >= 500) return "ServerError";
  return codes.get(status) ?? "BadRequest";
}
