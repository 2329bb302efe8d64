import { managementPath } from "../support/gateway-fixture.ts";
import { requestText } from "../support/raw-client.ts";

/** Bytes of HTTP/1.1, what the client gets, and how many requests the API server does. */
export interface RawRow {
  /** Completes "the gateway ...". */
  readonly rule: string;
  readonly bytes: string;
  /** The statuses of the answers; any that are not listed fail the test. */
  readonly answers: readonly number[];
  readonly forwarded: 0 | 1;
  /** The body that the API server gets. */
  readonly body?: string;
  /** What the client does when it has sent everything; default: it waits for the answers. */
  readonly then?: "end" | "destroy";
  /** Whether the connection is over after the answers; default: yes, unless a request is forwarded. */
  readonly stays?: boolean;
}

const post = "POST /api/v1/namespaces/web/pods";
const json = "Content-Type: application/json";
const chunked = "Transfer-Encoding: chunked";

function posted(fields: readonly string[], body: string): string {
  return requestText(post, [json, ...fields], body);
}

/** Only where a request ends is in doubt, the connection ends. */
export function refused(what: string, bytes: string, status = 400): RawRow {
  const stays = status === 401 || status === 403;
  return { rule: `refuses ${what}`, bytes, answers: [status], forwarded: 0, stays };
}

/** A body that is forwarded; the connection stays. */
function forwarded(rule: string, bytes: string, body: string): RawRow {
  return { rule, bytes, answers: [200], forwarded: 1, body };
}

/** A request that would be forwarded, if it were read as one. */
const smuggled = `GET ${managementPath}/smuggled HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer key-of-bob-for-tests\r\n\r\n`;

const lengths: readonly RawRow[] = (
  [
    ["Content-Length beside Transfer-Encoding", ["Content-Length: 5", chunked]],
    ["Transfer-Encoding beside Content-Length", [chunked, "Content-Length: 5"]],
    ["two equal Content-Length", ["Content-Length: 5", "Content-Length: 5"]],
    ["two unequal Content-Length", ["Content-Length: 5", "Content-Length: 6"]],
    ["a list as Content-Length", ["Content-Length: 5, 5"]],
    ["a signed Content-Length", ["Content-Length: +5"]],
    ["a negative Content-Length", ["Content-Length: -5"]],
    ["a hexadecimal Content-Length", ["Content-Length: 0x5"]],
    ["a Content-Length with a blank inside", ["Content-Length: 5 5"]],
    ["an empty Content-Length", ["Content-Length:"]],
    ["a Content-Length past 2^64", ["Content-Length: 18446744073709551621"]],
  ] as const
).map(([what, fields]) =>
  refused(`${what}, and reads nothing behind it`, posted(fields, `0\r\n\r\n${smuggled}`)),
);

const codings: readonly RawRow[] = [
  ["gzip, chunked", "gzip, chunked"],
  ["chunked, gzip", "chunked, gzip"],
  ["chunked, chunked", "chunked, chunked"],
  ["chunked, identity", "chunked, identity"],
  ["identity", "identity"],
  ["xchunked", "xchunked"],
  ["chunked with a parameter", "chunked;q=1"],
  ["chunked behind a vertical tab", "\u000bchunked"],
  ["chunked in quotes", '"chunked"'],
].map(([what, value]) =>
  refused(
    `the transfer coding ${what}, and reads nothing behind it`,
    posted([`Transfer-Encoding: ${value}`], `0\r\n\r\n${smuggled}`),
  ),
);

const chunks: readonly RawRow[] = [
  refused(
    "two Transfer-Encoding, and reads nothing behind them",
    posted([chunked, chunked], `0\r\n\r\n${smuggled}`),
  ),
  forwarded(
    "forwards chunks without their extensions",
    posted([chunked], "5;a=b\r\nhello\r\n0;c\r\n\r\n"),
    "hello",
  ),
  refused(
    "chunk extensions of 20 KB",
    posted([chunked], `5;${"a".repeat(20_000)}\r\nhello\r\n0\r\n\r\n`),
    413,
  ),
  ...(
    [
      ["a chunk size with 0x", "0x5\r\nhello\r\n0\r\n\r\n"],
      ["a signed chunk size", "+5\r\nhello\r\n0\r\n\r\n"],
      ["a chunk size with an underscore", "0_5\r\nhello\r\n0\r\n\r\n"],
      ["a chunk size past 2^64", "10000000000000005\r\nhello\r\n0\r\n\r\n"],
      ["a chunk that is longer than its size", "5\r\nhello!!\r\n0\r\n\r\n"],
      ["a chunk that ends with a bare LF", "5\nhello\n0\n\n"],
      ["a chunk size that ends with a bare CR", "5\rhello\r\n0\r\n\r\n"],
      ["a last chunk that a bare LF ends", "5\r\nhello\r\n0\n\n"],
    ] as const
  ).map(([what, body]) =>
    refused(
      `${what}, and the API server gets no whole request`,
      posted([chunked], `${body}${smuggled}`),
    ),
  ),
  forwarded(
    "forwards no trailers",
    posted([chunked], "5\r\nhello\r\n0\r\nImpersonate-User: root\r\nX-End: 1\r\n\r\n"),
    "hello",
  ),
  forwarded(
    "forwards a body of chunks, and keeps the connection",
    posted([chunked], "5\r\nhello\r\n3\r\n, a\r\n0\r\n\r\n"),
    "hello, a",
  ),
  forwarded(
    "forwards a body with a length, and keeps the connection",
    posted(["Content-Length: 5"], "hello"),
    "hello",
  ),
];

const bodies: readonly RawRow[] = [
  ...(
    [
      ["GET with a body", "GET /api", "Content-Length: 5", "hello"],
      ["GET with chunks", "GET /api", chunked, "5\r\nhello\r\n0\r\n\r\n"],
      ["HEAD with a body", "HEAD /api", "Content-Length: 5", "hello"],
    ] as const
  ).map(([what, line, field, body]) => refused(what, requestText(line, [field], body + smuggled))),
  forwarded(
    "forwards DELETE with a body",
    requestText("DELETE /api/v1/namespaces/web/pods/a", [json, "Content-Length: 2"], "{}"),
    "{}",
  ),
  ...(
    [
      ["body that its client ends before its length", "Content-Length: 100", "hello", "end"],
      ["body whose client leaves before its length", "Content-Length: 100", "hello", "destroy"],
      ["chunks whose client ends before the last one", chunked, "5\r\nhello\r\n", "end"],
      ["chunks whose client leaves before the last one", chunked, "5\r\nhello\r\n", "destroy"],
    ] as const
  ).map(([what, field, body, then]): RawRow => {
    const bytes = posted([field], body);
    return { rule: `forwards no ${what}`, bytes, answers: [], forwarded: 0, then };
  }),
  {
    ...forwarded(
      "answers Expect after its decision, and forwards the body",
      posted(["Content-Length: 5", "Expect: 100-continue"], "hello"),
      "hello",
    ),
    answers: [100, 200],
  },
  {
    rule: "asks for no body of a request that it refuses, whatever it expects",
    bytes: `POST ${managementPath}/api HTTP/1.1\r\nHost: gateway\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`,
    answers: [401],
    forwarded: 0,
  },
  {
    ...refused(
      "what it cannot expect",
      posted(["Content-Length: 5", "Expect: 200-ok"], "hello"),
      417,
    ),
    stays: true,
  },
];

/** Requests whose end two servers could find at two places. */
export const framingRows: readonly RawRow[] = [...lengths, ...codings, ...chunks, ...bodies];
