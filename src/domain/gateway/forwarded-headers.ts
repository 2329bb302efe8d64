import type { ReviewedRequest } from "../../api/access-review.ts";
import { extras } from "../../api/names.ts";
import type { UserInfo } from "../access-key/authenticate.ts";
import { fieldsNamed, hasName, type RawHeaders } from "./raw-headers.ts";
import type { RequestHead } from "./request-head.ts";

/** Fields of a client that kube-apiserver gets, in lower case. */
const forwarded: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "content-type",
  "content-encoding",
  "if-match",
  "if-none-match",
  "if-modified-since",
  "if-unmodified-since",
  "range",
  "if-range",
  "user-agent",
  "kubectl-command",
  "kubectl-session",
  "x-stream-protocol-version",
]);

/** Fields of a WebSocket handshake (RFC 6455, section 4.1). */
const handshake: ReadonlySet<string> = new Set([
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-extensions",
]);

/** What the gateway adds to a request. */
interface AddedHeaders {
  readonly user: UserInfo;
  readonly request: Pick<ReviewedRequest, "verb">;
  /** The client's WebSocket sub-protocols without its credential. */
  readonly subprotocols: string | undefined;
}

/** Whether a client sent a header of impersonation, whatever its spelling. */
export function asksForImpersonation(rawHeaders: RawHeaders): boolean {
  return hasName(rawHeaders, (name) => /^impersonate(?:-|_|$)/.test(name));
}

/**
 * The headers that kube-apiserver gets, names and values in turn: those of the client that are
 * listed, and the user's identity by impersonation (Kubernetes, "User impersonation"). Of a watch,
 * the encodings of the client are not: a last event could not follow a compressed one.
 */
export function forwardedHeaders(
  head: RequestHead,
  { user, request, subprotocols }: AddedHeaders,
): readonly string[] {
  const isWatch = request.verb === "watch";
  const sent = fieldsNamed(
    head.rawHeaders,
    (name) =>
      (forwarded.has(name) && !(isWatch && name === "accept-encoding")) ||
      (head.isUpgrade && handshake.has(name)),
  );
  return [
    ...sent,
    ...(head.isUpgrade && subprotocols !== undefined
      ? ["sec-websocket-protocol", subprotocols]
      : []),
    ...impersonation(user),
    ...["x-forwarded-for", head.peerAddress],
  ];
}

/** The headers of each user, which many requests send. */
const headersOfUsers = new WeakMap<UserInfo, readonly string[]>();

function impersonation(user: UserInfo): readonly string[] {
  const known = headersOfUsers.get(user) ?? newImpersonation(user);
  headersOfUsers.set(user, known);
  return known;
}

function newImpersonation({ username, groups, extra }: UserInfo): readonly string[] {
  const extraHeaders = Object.values(extras).flatMap((name) =>
    (extra[name] ?? []).flatMap((value) => [
      `impersonate-extra-${encodeURIComponent(name).toLowerCase()}`,
      headerText(value),
    ]),
  );
  return [
    "impersonate-user",
    headerText(username),
    ...groups.flatMap((name) => ["impersonate-group", headerText(name)]),
    ...extraHeaders,
  ];
}

/** Header values are bytes: those of the name in UTF-8, as Latin-1. */
function headerText(value: string): string {
  return Buffer.from(value, "utf8").toString("latin1");
}

/**
 * A name of the user that would arrive as another name: kube-apiserver trims blanks around the
 * values of headers (Go, `net/textproto`), and control characters end or change them; other white
 * space arrives. Undefined if there is none.
 */
export function unforwardableName({ username, groups }: UserInfo): string | undefined {
  return [username, ...groups].find(
    (name) => name === "" || /^ | $|\p{Cc}/u.test(name) || !name.isWellFormed(),
  );
}
