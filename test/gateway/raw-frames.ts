import { aliceKey, managementPath } from "../support/gateway-fixture.ts";
import {
  data,
  flags,
  frame,
  headerBlock,
  headers,
  keptField,
  reset,
  windowUpdate,
} from "../support/raw-http2.ts";

/** Frames of HTTP/2, what becomes of stream 1, and how many requests the API server gets. */
export interface FrameRow {
  /** Completes "the gateway ...". */
  readonly rule: string;
  readonly frames: readonly Buffer[];
  /** Frames that follow when the API server has a part of the request. */
  readonly later?: readonly Buffer[];
  /** A status, a reset of the stream, an end of the session, or nothing at all. */
  readonly becomes: number | "reset" | "goaway" | "nothing";
  readonly forwarded: 0 | 1;
  readonly body?: string;
  /** Whether the client acknowledges the server's settings; default: yes. */
  readonly acknowledges?: boolean;
}

type Fields = readonly (readonly [string, string])[];

const post = { method: "POST", path: `${managementPath}/api/v1/namespaces/web/pods` };
const open = flags.endHeaders;

/** The header list of a request with alice's key. */
export function requestFields(
  others: Fields = [],
  { method = "GET", path = `${managementPath}/api` } = {},
): Fields {
  return [
    [":method", method],
    [":scheme", "https"],
    [":authority", "gateway"],
    [":path", path],
    ["authorization", `Bearer ${aliceKey}`],
    ...others,
  ];
}

function without(name: string): Fields {
  return requestFields().filter(([found]) => found !== name);
}

function broken(rule: string, fields: Fields, becomes: FrameRow["becomes"] = "reset"): FrameRow {
  return { rule: `refuses ${rule}`, frames: [headers(1, fields)], becomes, forwarded: 0 };
}

function sent(rule: string, others: Fields): FrameRow {
  return { rule, frames: [headers(1, requestFields(others))], becomes: 200, forwarded: 1 };
}

const pseudo: readonly FrameRow[] = [
  broken(
    "CONNECT, which has no :path",
    [
      [":method", "CONNECT"],
      [":authority", "api:6443"],
    ],
    405,
  ),
  broken("CONNECT with a :path", requestFields([], { method: "CONNECT", path: "/" })),
  broken("CONNECT of another protocol", [
    ...requestFields([], { method: "CONNECT" }),
    [":protocol", "websocket"],
  ]),
  broken("two :path", [[":path", "/"], ...requestFields()]),
  broken("two :method", [[":method", "GET"], ...requestFields()]),
  broken("two :authority", [[":authority", "gateway"], ...requestFields()]),
  broken("a pseudo-header behind a field", [...without(":path"), [":path", "/"]]),
  broken("a pseudo-header that no request has", [[":status", "200"], ...requestFields()]),
  broken("an unknown pseudo-header", [[":user", "root"], ...requestFields()]),
  broken("no :method", without(":method")),
  broken("no :path", without(":path")),
  broken("no :scheme", without(":scheme")),
  broken("an empty :path", requestFields([], { path: "" })),
  broken("a :path without a slash", requestFields([], { path: "kubernetes" })),
  broken("a :path with a blank", requestFields([], { path: `${managementPath}/a b` })),
  broken("a :path of another origin", requestFields([], { path: `https://api${managementPath}` })),
  broken("OPTIONS *", requestFields([], { method: "OPTIONS", path: "*" }), 405),
  broken("a method in small letters", requestFields([], { method: "get" }), 405),
];

const fields: readonly FrameRow[] = [
  broken("a name in capitals", requestFields([["Impersonate-User", "root"]])),
  sent("forwards nothing of a field with an empty name", [["", "root"]]),
  sent("forwards nothing of a field with a name with a blank", [["impersonate-user ", "root"]]),
  sent("forwards nothing of a field with a name with a colon", [["impersonate:user", "root"]]),
  broken("a name with an underscore", requestFields([["impersonate_user", "root"]]), 400),
  sent("forwards nothing of a value with CR LF", [["accept", "a\r\nimpersonate-user: root"]]),
  sent("forwards nothing of a value with NUL", [["accept", "a\u0000b"]]),
  broken("connection", requestFields([["connection", "impersonate-user"]])),
  broken("keep-alive", requestFields([["keep-alive", "1"]])),
  broken("proxy-connection", requestFields([["proxy-connection", "keep-alive"]])),
  broken("upgrade", requestFields([["upgrade", "websocket"]])),
  broken("transfer-encoding", requestFields([["transfer-encoding", "chunked"]])),
  broken("te other than trailers", requestFields([["te", "gzip"]])),
  broken(
    "two content-length",
    requestFields([
      ["content-length", "0"],
      ["content-length", "0"],
    ]),
  ),
  broken("a content-length that is no number", requestFields([["content-length", "+0"]])),
  broken("two of authorization", requestFields([["authorization", "Bearer other"]]), 400),
  broken(
    "two hosts",
    requestFields([
      ["host", "gateway"],
      ["host", "gateway"],
    ]),
    "reset",
  ),
  broken("a host unlike :authority", requestFields([["host", "api"]]), 400),
  broken("no key", without("authorization"), 401),
  ...["impersonate-user", "impersonate-group", "impersonate-uid", "impersonate-extra-scopes"].map(
    (name) => broken(`${name} from a client`, requestFields([[name, "root"]]), 403),
  ),
  sent("forwards nothing of te: trailers", [["te", "trailers"]]),
  sent("forwards nothing of a browser's or a proxy's fields", [
    ["cookie", "a=b"],
    ["x-remote-user", "root"],
    ["x-forwarded-for", "10.0.0.1"],
  ]),
  sent("forwards a request whose host equals :authority", [["host", "gateway"]]),
  broken(
    "201 fields",
    requestFields(Array.from({ length: 202 }, (_, index) => [`x-${index}`, "a"] as const)),
  ),
];

const bomb = keptField("x-bomb", "a".repeat(3_000));

const bodies: readonly FrameRow[] = [
  {
    rule: "forwards a body without a length",
    frames: [headers(1, requestFields([], post), open), data(1, "hello")],
    becomes: 200,
    forwarded: 1,
    body: "hello",
  },
  {
    rule: "forwards a body with its length",
    frames: [headers(1, requestFields([["content-length", "5"]], post), open), data(1, "hello")],
    becomes: 200,
    forwarded: 1,
    body: "hello",
  },
  {
    rule: "refuses a body that is shorter than its content-length",
    frames: [headers(1, requestFields([["content-length", "9"]], post), open), data(1, "hello")],
    becomes: "reset",
    forwarded: 0,
  },
  {
    rule: "refuses a body that is longer than its content-length",
    frames: [headers(1, requestFields([["content-length", "3"]], post), open), data(1, "hello")],
    becomes: "goaway",
    forwarded: 0,
  },
  {
    rule: "refuses a content-length without a body",
    frames: [headers(1, requestFields([["content-length", "5"]], post))],
    becomes: "reset",
    forwarded: 0,
  },
  {
    rule: "refuses a body behind a content-length of 0",
    frames: [headers(1, requestFields([["content-length", "0"]], post), open), data(1, "hello")],
    becomes: "goaway",
    forwarded: 0,
  },
  {
    rule: "refuses GET with a body",
    frames: [headers(1, requestFields(), open), data(1, "hello")],
    becomes: 400,
    forwarded: 0,
  },
  {
    rule: "forwards nothing of trailers",
    frames: [
      headers(1, requestFields([], post), open),
      data(1, "hello", 0),
      headers(1, [["impersonate-user", "root"]]),
    ],
    becomes: 200,
    forwarded: 1,
    body: "hello",
  },
  {
    rule: "refuses a pseudo-header in trailers",
    frames: [
      headers(1, requestFields([], post), open),
      data(1, "hello", 0),
      headers(1, [[":path", "/"]]),
    ],
    becomes: "reset",
    forwarded: 0,
  },
  {
    rule: "forwards no body that its client resets before its end",
    frames: [headers(1, requestFields([], post), open), data(1, "hello", 0), reset(1)],
    becomes: "nothing",
    forwarded: 0,
  },
  {
    rule: "forwards no body that its client resets without an error",
    frames: [headers(1, requestFields([], post), open), data(1, "hello", 0), reset(1, 0)],
    becomes: "nothing",
    forwarded: 0,
  },
  {
    rule: "forwards no body whose session its client leaves",
    frames: [
      headers(1, requestFields([], post), open),
      data(1, "hello", 0),
      frame("goaway", { payload: Buffer.alloc(8) }),
    ],
    becomes: "goaway",
    forwarded: 0,
  },
  ...(
    [
      ["resets", [reset(1)], "nothing"],
      ["resets without an error", [reset(1, 0)], "nothing"],
      ["ends with its session", [frame("goaway", { payload: Buffer.alloc(8) })], "goaway"],
    ] as const
  ).map(([what, later, becomes]): FrameRow => ({
    rule: `forwards no body that its client ${what} when a part of it was forwarded`,
    frames: [headers(1, requestFields([], post), open), data(1, "hello", 0)],
    later,
    becomes,
    forwarded: 0,
  })),
  {
    rule: "answers Expect after its decision, and forwards the body",
    frames: [headers(1, requestFields([["expect", "100-continue"]], post), open), data(1, "hello")],
    becomes: 100,
    forwarded: 1,
    body: "hello",
  },
];

const sessions: readonly FrameRow[] = [
  {
    rule: "waits for the end of half a head",
    frames: [frame("headers", { stream: 1, flags: 1, payload: headerBlock(requestFields()) })],
    becomes: "nothing",
    forwarded: 0,
  },
  {
    rule: "refuses a head in a hundred parts",
    frames: [
      frame("headers", { stream: 1, flags: 1, payload: headerBlock(requestFields()) }),
      ...Array.from({ length: 100 }, () =>
        frame("continuation", { stream: 1, payload: headerBlock([["x", "a"]]) }),
      ),
      frame("continuation", { stream: 1, flags: flags.endHeaders }),
    ],
    becomes: "goaway",
    forwarded: 0,
  },
  {
    rule: "refuses a header list of 33 KiB",
    frames: [
      frame("headers", { stream: 1, flags: 1, payload: headerBlock(requestFields()) }),
      frame("continuation", { stream: 1, payload: headerBlock([["x-long", "a".repeat(16_000)]]) }),
      frame("continuation", {
        stream: 1,
        flags: flags.endHeaders,
        payload: headerBlock([
          ["x-longer", "a".repeat(16_000)],
          ["x-more", "a".repeat(1_500)],
        ]),
      }),
    ],
    becomes: "reset",
    forwarded: 0,
  },
  {
    rule: "refuses a header list that is 33 KiB when it is unpacked",
    frames: [bombed(12)],
    becomes: "reset",
    forwarded: 0,
  },
  {
    rule: "refuses the same of a client that acknowledges no settings",
    frames: [bombed(12)],
    becomes: "reset",
    forwarded: 0,
    acknowledges: false,
  },
  {
    rule: "refuses a head whose packing is broken",
    frames: [frame("headers", { stream: 1, flags: 5, payload: Buffer.from("ffffffffff", "hex") })],
    becomes: "goaway",
    forwarded: 0,
  },
  {
    rule: "refuses a stream with the number of a server's",
    frames: [headers(2, requestFields())],
    becomes: "goaway",
    forwarded: 0,
  },
  {
    rule: "refuses data of a stream without a head",
    frames: [data(1, "hello")],
    becomes: "goaway",
    forwarded: 0,
  },
  {
    rule: "refuses a push of a client",
    frames: [frame("push", { stream: 1, flags: 4, payload: Buffer.alloc(4) })],
    becomes: "goaway",
    forwarded: 0,
  },
  {
    rule: "forwards nothing of a request whose session breaks in the same moment",
    frames: [headers(1, requestFields()), windowUpdate(0, 0)],
    becomes: "goaway",
    forwarded: 0,
  },
  {
    rule: "forwards nothing of a request that is reset in the same moment",
    frames: [headers(1, requestFields()), reset(1)],
    becomes: "nothing",
    forwarded: 0,
  },
  {
    rule: "refuses HTTP/1.1 behind the handshake of HTTP/2",
    frames: [Buffer.from(`GET ${managementPath}/api HTTP/1.1\r\nHost: gateway\r\n\r\n`)],
    becomes: "goaway",
    forwarded: 0,
  },
];

function bombed(times: number): Buffer {
  return frame("headers", {
    stream: 1,
    flags: flags.endHeaders | flags.endStream,
    payload: Buffer.concat([
      headerBlock(requestFields()),
      bomb.first,
      ...Array.from({ length: times }, () => bomb.again),
    ]),
  });
}

/** Requests of HTTP/2 that are broken, ask for what is not theirs, or end too early. */
export const frameRows: readonly FrameRow[] = [...pseudo, ...fields, ...bodies, ...sessions];
