import { type Method, methods } from "./request-info.ts";
import { hasName, type RawHeaders, tokensOf, valuesOfField } from "./raw-headers.ts";
import { textProblem } from "./request-target.ts";

/** The head of a request to the gateway, as the server read it. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: RawHeaders;
  readonly httpVersion: "1.0" | "1.1" | "2";
  /** `:authority` of HTTP/2; undefined for HTTP/1.1. */
  readonly authority?: string | undefined;
  /** Whether the connection becomes another protocol (RFC 9110, section 7.8). */
  readonly isUpgrade: boolean;
  /** Whether an HTTP/2 request has no body; undefined for HTTP/1.1, whose headers say so. */
  readonly endsAfterHead?: boolean;
  /** IP address of the client. */
  readonly peerAddress: string;
}

/** Whether a request has a body, and of which length in bytes; undefined if it is chunked. */
export type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "body"; readonly length: number | undefined };

/** A head that every HTTP implementation reads in the same way. */
interface CheckedHead {
  readonly kind: "head";
  readonly method: Method;
  readonly framing: Framing;
}

/** Why a head is refused; the reason quotes nothing of it. */
interface RefusedHead {
  readonly kind: "refused";
  readonly status: 400 | 405 | 505;
  readonly reason: string;
}

/** Fields that two programs could read in two ways if they are sent twice. */
const single = ["authorization", "host", "content-length", "content-type"] as const;

/**
 * Checks the form of a head: method, version, framing (RFC 9112, section 6; RFC 9113, section 8.1)
 * and the characters of its target, which is not understood.
 */
export function checkHead(head: RequestHead): CheckedHead | RefusedHead {
  if (head.httpVersion === "1.0") return refused(505, oldVersion);
  const method = methods.find((known) => known === head.method);
  if (method === undefined)
    return refused(405, `the method must be one of ${methods.join(", ")}, in capital letters`);
  const doubled = single.find((name) => valuesOfField(head.rawHeaders, name).length > 1);
  if (doubled !== undefined) return refused(400, `the header ${doubled} must be sent once`);
  const problem = hostProblem(head) ?? nameProblem(head) ?? textProblem(head.target);
  if (problem !== undefined) return refused(400, problem);
  const framing = framingOf(head);
  if (typeof framing === "string") return refused(400, framing);
  if (framing.kind === "body" && (method === "GET" || method === "HEAD"))
    return refused(400, `a ${method} request must not have a body`);
  if (framing.kind === "body" && head.isUpgrade)
    return refused(400, "a request for an upgrade must not have a body");
  return { kind: "head", method, framing };
}

/** What nginx sends to a backend by default, up to version 1.28. */
const oldVersion =
  "HTTP/1.1 or HTTP/2 is required, and the request arrived as HTTP/1.0; " +
  "let the proxy in front of this server send HTTP/1.1, nginx with proxy_http_version 1.1";

function hostProblem({ rawHeaders, authority, httpVersion }: RequestHead): string | undefined {
  const [host] = valuesOfField(rawHeaders, "host");
  if (httpVersion === "1.1") return host === undefined ? "the header host is required" : undefined;
  return host !== undefined && authority !== undefined && host !== authority
    ? "the header host must equal :authority"
    : undefined;
}

/** An underscore is a dash to some servers, and a blank ends a name for others. */
function nameProblem({ rawHeaders }: RequestHead): string | undefined {
  const isOdd = hasName(rawHeaders, (name) => !/^[!#$%&'*+.^`|~a-z0-9-]+$/.test(name));
  return isOdd ? "header names must consist of letters, digits and dashes" : undefined;
}

function framingOf({ rawHeaders, httpVersion, endsAfterHead }: RequestHead): Framing | string {
  const encodings = valuesOfField(rawHeaders, "transfer-encoding");
  const [length] = valuesOfField(rawHeaders, "content-length");
  if (encodings.length > 0 && length !== undefined)
    return "content-length and transfer-encoding must not be sent together";
  if (encodings.length > 0) {
    const isChunked = encodings.length === 1 && encodings[0]?.toLowerCase() === "chunked";
    return isChunked && httpVersion === "1.1"
      ? { kind: "body", length: undefined }
      : "transfer-encoding must be chunked";
  }
  if (length === undefined)
    return httpVersion === "2" && endsAfterHead !== true
      ? { kind: "body", length: undefined }
      : { kind: "none" };
  if (!/^\d{1,15}$/.test(length)) return "content-length must be a number";
  return Number(length) === 0 ? { kind: "none" } : { kind: "body", length: Number(length) };
}

/** Protocols that kube-apiserver upgrades to (Kubernetes, "WebSocket"; SPDY of older clients). */
const upgradeProtocols = ["websocket", "SPDY/3.1"] as const;

/** The one of these protocols that headers ask for; any other request stays HTTP. */
export function upgradeProtocol(
  rawHeaders: RawHeaders,
): (typeof upgradeProtocols)[number] | undefined {
  const [protocol, ...others] = tokensOf(rawHeaders, "upgrade");
  return tokensOf(rawHeaders, "connection").includes("upgrade") && others.length === 0
    ? upgradeProtocols.find((known) => known.toLowerCase() === protocol)
    : undefined;
}

/** Whether the headers ask for one of these protocols. */
export function asksForUpgrade(rawHeaders: RawHeaders): boolean {
  return upgradeProtocol(rawHeaders) !== undefined;
}

function refused(status: RefusedHead["status"], reason: string): RefusedHead {
  return { kind: "refused", status, reason };
}
