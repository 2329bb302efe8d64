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
).map(([what, fields]) => ({
  rule: `refuses ${what}, and reads nothing behind it`,
  bytes: posted(fields, `0\r\n\r\n${smuggled}`),
  answers: [400],
  forwarded: 0,
}));

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
].map(([what, value]) => ({
  rule: `refuses the transfer coding ${what}, and reads nothing behind it`,
  bytes: posted([`Transfer-Encoding: ${value}`], `0\r\n\r\n${smuggled}`),
  answers: [400],
  forwarded: 0,
}));

const chunks: readonly RawRow[] = [
  {
    rule: "refuses two Transfer-Encoding, and reads nothing behind them",
    bytes: posted([chunked, chunked], `0\r\n\r\n${smuggled}`),
    answers: [400],
    forwarded: 0,
  },
  {
    rule: "forwards chunks without their extensions",
    bytes: posted([chunked], "5;a=b\r\nhello\r\n0;c\r\n\r\n"),
    answers: [200],
    forwarded: 1,
    body: "hello",
  },
  {
    rule: "refuses chunk extensions of 20 KB",
    bytes: posted([chunked], `5;${"a".repeat(20_000)}\r\nhello\r\n0\r\n\r\n`),
    answers: [413],
    forwarded: 0,
  },
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
  ).map(([what, body]): RawRow => ({
    rule: `refuses ${what}, and the API server gets no whole request`,
    bytes: posted([chunked], `${body}${smuggled}`),
    answers: [400],
    forwarded: 0,
  })),
  {
    rule: "forwards no trailers",
    bytes: posted([chunked], "5\r\nhello\r\n0\r\nImpersonate-User: root\r\nX-End: 1\r\n\r\n"),
    answers: [200],
    forwarded: 1,
    body: "hello",
  },
  {
    rule: "forwards a body of chunks, and keeps the connection",
    bytes: posted([chunked], "5\r\nhello\r\n3\r\n, a\r\n0\r\n\r\n"),
    answers: [200],
    forwarded: 1,
    body: "hello, a",
  },
  {
    rule: "forwards a body with a length, and keeps the connection",
    bytes: posted(["Content-Length: 5"], "hello"),
    answers: [200],
    forwarded: 1,
    body: "hello",
  },
];

const bodies: readonly RawRow[] = [
  {
    rule: "refuses GET with a body",
    bytes: requestText("GET /api", ["Content-Length: 5"], `hello${smuggled}`),
    answers: [400],
    forwarded: 0,
  },
  {
    rule: "refuses GET with chunks",
    bytes: requestText("GET /api", [chunked], `5\r\nhello\r\n0\r\n\r\n${smuggled}`),
    answers: [400],
    forwarded: 0,
  },
  {
    rule: "refuses HEAD with a body",
    bytes: requestText("HEAD /api", ["Content-Length: 5"], `hello${smuggled}`),
    answers: [400],
    forwarded: 0,
  },
  {
    rule: "forwards DELETE with a body",
    bytes: requestText("DELETE /api/v1/namespaces/web/pods/a", [json, "Content-Length: 2"], "{}"),
    answers: [200],
    forwarded: 1,
    body: "{}",
  },
  {
    rule: "forwards no body that its client ends before its length",
    bytes: posted(["Content-Length: 100"], "hello"),
    answers: [],
    forwarded: 0,
    then: "end",
  },
  {
    rule: "forwards no body whose client leaves before its length",
    bytes: posted(["Content-Length: 100"], "hello"),
    answers: [],
    forwarded: 0,
    then: "destroy",
  },
  {
    rule: "forwards no chunks whose client ends before the last one",
    bytes: posted([chunked], "5\r\nhello\r\n"),
    answers: [],
    forwarded: 0,
    then: "end",
  },
  {
    rule: "forwards no chunks whose client leaves before the last one",
    bytes: posted([chunked], "5\r\nhello\r\n"),
    answers: [],
    forwarded: 0,
    then: "destroy",
  },
  {
    rule: "answers Expect after its decision, and forwards the body",
    bytes: posted(["Content-Length: 5", "Expect: 100-continue"], "hello"),
    answers: [100, 200],
    forwarded: 1,
    body: "hello",
  },
  {
    rule: "asks for no body of a request that it refuses, whatever it expects",
    bytes: `POST ${managementPath}/api HTTP/1.1\r\nHost: gateway\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`,
    answers: [401],
    forwarded: 0,
  },
  {
    rule: "refuses what it cannot expect",
    bytes: posted(["Content-Length: 5", "Expect: 200-ok"], "hello"),
    answers: [417],
    forwarded: 0,
    stays: true,
  },
];

/** Requests whose end two servers could find at two places. */
export const framingRows: readonly RawRow[] = [...lengths, ...codings, ...chunks, ...bodies];
