import type { FrontWay } from "../support/front-ways.ts";
import { headers } from "../support/raw-http2.ts";

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

/** What of a way in requests name. */
type Named = Pick<FrontWay, "prefix" | "alice">;

/** Makes the header list of a request with a credential of alice; the path is the whole one. */
export type RequestFields = (
  others?: Fields,
  line?: { readonly method?: string; readonly path?: string },
) => Fields;

/** The header lists of requests to a way in. */
export function requestFieldsOf({ prefix, alice }: Named): RequestFields {
  return (others = [], { method = "GET", path = `${prefix}/api` } = {}) => [
    [":method", method],
    [":scheme", "https"],
    [":authority", "gateway"],
    [":path", path],
    ["authorization", `Bearer ${alice}`],
    ...others,
  ];
}

/** Heads of HTTP/2 that are broken, or ask for what is not theirs. */
export function fieldRows({ prefix, alice }: Named): readonly FrameRow[] {
  const requestFields = requestFieldsOf({ prefix, alice });

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
    broken("a :path with a blank", requestFields([], { path: `${prefix}/a b` })),
    broken("a :path of another origin", requestFields([], { path: `https://api${prefix}` })),
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

  return [...pseudo, ...fields];
}
