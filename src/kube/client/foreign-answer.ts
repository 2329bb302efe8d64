import { stringAt } from "../../api/parse.ts";

/** What says where an answer is from and what it is, as the server sent it. */
export interface AnswerOrigin {
  /** Host and port of the server that was asked. */
  readonly host: string;
  readonly contentType?: string | undefined;
  /** Where a redirect leads. */
  readonly location?: string | undefined;
}

/** An answer, all of which any server may have sent. */
interface Answer {
  readonly status: number;
  readonly text: string;
  readonly origin?: AnswerOrigin | undefined;
}

/**
 * Why an answer is not one of the API server, in one sentence with host, status and content type: a
 * page, a redirect, an empty body, null, JSON of something else. Undefined for an object, and for a
 * metav1.Status where the status says that there is one. It quotes nothing of the body, because a
 * page for a login may have secrets. `json` is the parsed body, undefined if it is not JSON.
 */
export function foreignAnswer(answer: Answer, json: unknown): string | undefined {
  const { status } = answer;
  const isOwn = status < 400 ? isObject(json) : stringAt(json, "kind") === "Status";
  return isOwn && !isRedirect(answer)
    ? undefined
    : `${answerText(answer, kindOf(answer, json))}, which is not an answer of the API server; ` +
        "check the address, and the proxy or load balancer in front of the API server";
}

/**
 * The sentence for plain text with an error, which the API server sends, too: for a group that it
 * does not serve, and for too many requests. Undefined for any other answer.
 */
export function plainRefusal(answer: Answer, json: unknown): string | undefined {
  const { status, text, origin } = answer;
  const isPlain = (origin?.contentType ?? "text/plain").startsWith("text/plain");
  return status >= 400 && isPlain && json === undefined && text.trim() !== "" && !isPage(answer)
    ? answerText(answer, "plain text")
    : undefined;
}

/**
 * Why an answer is not a document of any format, such as `status 302 with a redirect to a.example`;
 * undefined if it may be one. Only the beginning of the text is needed.
 */
export function foreignDocument(answer: Answer): string | undefined {
  const { status, text } = answer;
  const isPossible = status === 200 && text.trim() !== "" && text.trim() !== "null";
  return isPossible && !isPage(answer)
    ? undefined
    : `status ${described(answer, kindOf(answer, text.trim() === "null" ? null : undefined))}`;
}

function answerText(answer: Answer, kind: string): string {
  return `${answer.origin?.host ?? "the server"} answered ${described(answer, kind)}`;
}

function described({ status, origin }: Answer, kind: string): string {
  if (origin === undefined) return `${status} with ${kind}`;
  // Any server may have sent it: only what looks like a media type is repeated.
  const [type] = /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.exec(origin.contentType ?? "") ?? [];
  return `${status} with ${kind} (${type ?? "no content type"})`;
}

function kindOf(answer: Answer, json: unknown): string {
  if (isRedirect(answer)) return redirectText(answer);
  if (json === null) return "null";
  if (json !== undefined) return "JSON that is not a Kubernetes object";
  if (answer.text.trim() === "") return "an empty body";
  return isPage(answer) ? "an HTML page" : "other text";
}

/** Every object of Kubernetes has a kind, except the version of the API server. */
function isObject(json: unknown): boolean {
  return Boolean(stringAt(json, "kind") ?? stringAt(json, "gitVersion"));
}

function isPage({ text, origin }: Answer): boolean {
  return /^text\/html\b/i.test(origin?.contentType ?? "") || text.trimStart().startsWith("<");
}

function isRedirect({ status }: Answer): boolean {
  return status >= 300 && status < 400 && status !== 304;
}

const longestHost = 253;

/** The path of the address may have secrets. */
function redirectText({ origin }: Answer): string {
  const { host = "", location } = origin ?? {};
  if (location === undefined) return "a redirect without an address";
  const to = URL.parse(location, `https://${host}`)?.host ?? "";
  if (to === host) return "a redirect to another path";
  return to === "" || to.length > longestHost ? "a redirect elsewhere" : `a redirect to ${to}`;
}
