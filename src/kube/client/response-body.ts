import { listAt, numberAt, recordAt, stringAt } from "../../api/parse.ts";
import { foreignAnswer, plainRefusal } from "./foreign-answer.ts";
import { redact } from "./request-body.ts";
import { KubeError, type KubeErrorCode, networkError } from "./kube-error.ts";
import type { ApiResponse, ApiRequest } from "./transport.ts";

/** The object of a response; throws a KubeError for an error, and for what no API server sends. */
export function bodyOf(call: ApiRequest, answer: ApiResponse): unknown {
  return objectIn(call, answer, sentenceOf);
}

/**
 * Like {@link bodyOf}, for the user who sent the request: the error of a PATCH or DELETE also has
 * the message of the API server, without the secrets of the body, and that of a missing object its
 * namespace.
 */
export function bodyForUser(call: ApiRequest, answer: ApiResponse): unknown {
  return objectIn(call, answer, sentenceForUser);
}

/** The sentence of a metav1.Status about a request. */
type Sentence = (call: ApiRequest, status: unknown) => string;

function objectIn(call: ApiRequest, answer: ApiResponse, sentence: Sentence): unknown {
  const json = answer.json ?? jsonIn(answer);
  const isSuccess = answer.status >= 200 && answer.status < 300;
  if (isSuccess && foreignAnswer(answer, json) === undefined) return json;
  throw failureOf(call, { ...answer, json }, sentence);
}

/** The KubeError of a response that is not what the call asks for. */
export function statusError(call: ApiRequest, answer: ApiResponse): KubeError {
  return failureOf(call, answer, sentenceOf);
}

function failureOf(call: ApiRequest, answer: ApiResponse, sentence: Sentence): KubeError {
  const { status } = answer;
  const json = answer.json ?? jsonIn(answer);
  const plain = plainRefusal(answer, json);
  const foreign = plain ?? foreignAnswer(answer, json);
  if (foreign === undefined)
    return errorOf(call, answer, { status: json, sentence: sentence(call, json) });
  // A 404 or a 403 of another server says nothing about the object.
  const isOfServer = plain !== undefined || status >= 500 || status === 429;
  const code = isOfServer ? codeOf(status, undefined) : "Network";
  return networkError(call, foreign, { ...answer, code, explanation: foreign });
}

function sentenceForUser(call: ApiRequest, status: unknown): string {
  const sentence = redact(stringAt(status, "message") || "no explanation", call.body);
  return sentence + placeOfMissing(call, status);
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
export function parseJson(call: ApiRequest, text: string, what: string): unknown {
  const json = jsonIn({ text });
  if (json === undefined) throw networkError(call, `${what} is not JSON`);
  return json;
}

/** The JSON of a text; undefined if it is not JSON. */
function jsonIn({ text }: Pick<ApiResponse, "text">): unknown {
  try {
    const json: unknown = JSON.parse(text);
    return json;
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
