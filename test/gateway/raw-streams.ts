import type { FrontWay } from "../support/front-ways.ts";
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
import { type FrameRow, requestFieldsOf } from "./raw-frames.ts";

/** Bodies and sessions of HTTP/2 that are broken, or end too early. */
export function streamRows({
  prefix,
  alice,
}: Pick<FrontWay, "prefix" | "alice">): readonly FrameRow[] {
  const requestFields = requestFieldsOf({ prefix, alice });
  const path = `${prefix}/api/v1/namespaces/web/pods`;
  const get = headers(1, requestFields());
  const post = (...fields: readonly (readonly [string, string])[]): Buffer =>
    headers(1, requestFields(fields, { method: "POST", path }), flags.endHeaders);
  const length = (bytes: number) => ["content-length", String(bytes)] as const;
  const [hello, part] = [data(1, "hello"), data(1, "hello", 0)];
  const leaving = frame("goaway", { payload: Buffer.alloc(8) });
  const halfHead = frame("headers", { stream: 1, flags: 1, payload: headerBlock(requestFields()) });
  const continued = (fields: readonly (readonly [string, string])[], set = 0): Buffer =>
    frame("continuation", { stream: 1, flags: set, payload: headerBlock(fields) });
  const bomb = keptField("x-bomb", "a".repeat(3_000));

  type Became = FrameRow["becomes"];
  const unforwarded = (rule: string, becomes: Became, ...frames: readonly Buffer[]): FrameRow => ({
    rule,
    frames,
    becomes,
    forwarded: 0,
  });
  const refuses = (what: string, becomes: Became, ...frames: readonly Buffer[]): FrameRow =>
    unforwarded(`refuses ${what}`, becomes, ...frames);
  /** Forwards "hello". */
  const forwards = (rule: string, becomes: Became, ...frames: readonly Buffer[]): FrameRow => ({
    rule,
    frames,
    becomes,
    forwarded: 1,
    body: "hello",
  });

  const bodies: readonly FrameRow[] = [
    forwards("forwards a body without a length", 200, post(), hello),
    forwards("forwards a body with its length", 200, post(length(5)), hello),
    refuses("a body that is shorter than its content-length", "reset", post(length(9)), hello),
    refuses("a body that is longer than its content-length", "goaway", post(length(3)), hello),
    refuses(
      "a content-length without a body",
      "reset",
      headers(1, requestFields([length(5)], { method: "POST", path })),
    ),
    refuses("a body behind a content-length of 0", "goaway", post(length(0)), hello),
    refuses("GET with a body", 400, headers(1, requestFields(), flags.endHeaders), hello),
    forwards(
      "forwards nothing of trailers",
      200,
      ...[post(), part, headers(1, [["impersonate-user", "root"]])],
    ),
    refuses("a pseudo-header in trailers", "reset", post(), part, headers(1, [[":path", "/"]])),
    ...(
      [
        ["that its client resets before its end", reset(1), "nothing"],
        ["that its client resets without an error", reset(1, 0), "nothing"],
        ["whose session its client leaves", leaving, "goaway"],
      ] as const
    ).map(([what, end, becomes]) =>
      unforwarded(`forwards no body ${what}`, becomes, post(), part, end),
    ),
    ...(
      [
        ["resets", reset(1), "nothing"],
        ["resets without an error", reset(1, 0), "nothing"],
        ["ends with its session", leaving, "goaway"],
      ] as const
    ).map(([what, later, becomes]) => {
      const rule = `forwards no body that its client ${what} when a part of it was forwarded`;
      return { ...unforwarded(rule, becomes, post(), part), later: [later] };
    }),
    forwards(
      "answers Expect after its decision, and forwards the body",
      100,
      ...[post(["expect", "100-continue"]), hello],
    ),
  ];

  const sessions: readonly FrameRow[] = [
    unforwarded("waits for the end of half a head", "nothing", halfHead),
    refuses(
      "a head in a hundred parts",
      "goaway",
      halfHead,
      ...Array.from({ length: 100 }, () => continued([["x", "a"]])),
      continued([], flags.endHeaders),
    ),
    refuses(
      "a header list of 33 KiB",
      "reset",
      halfHead,
      continued([["x-long", "a".repeat(16_000)]]),
      continued(
        [
          ["x-longer", "a".repeat(16_000)],
          ["x-more", "a".repeat(1_500)],
        ],
        flags.endHeaders,
      ),
    ),
    refuses("a header list that is 33 KiB when it is unpacked", "reset", bombed(12)),
    {
      ...refuses("the same of a client that acknowledges no settings", "reset", bombed(12)),
      acknowledges: false,
    },
    refuses(
      "a head whose packing is broken",
      "goaway",
      frame("headers", { stream: 1, flags: 5, payload: Buffer.from("ffffffffff", "hex") }),
    ),
    refuses("a stream with the number of a server's", "goaway", headers(2, requestFields())),
    refuses("data of a stream without a head", "goaway", hello),
    refuses(
      "a push of a client",
      "goaway",
      frame("push", { stream: 1, flags: 4, payload: Buffer.alloc(4) }),
    ),
    unforwarded(
      "forwards nothing of a request whose session breaks in the same moment",
      "goaway",
      ...[get, windowUpdate(0, 0)],
    ),
    unforwarded(
      "forwards nothing of a request that is reset in the same moment",
      "nothing",
      ...[get, reset(1)],
    ),
    refuses(
      "HTTP/1.1 behind the handshake of HTTP/2",
      "goaway",
      Buffer.from(`GET ${prefix}/api HTTP/1.1\r\nHost: gateway\r\n\r\n`),
    ),
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

  return [...bodies, ...sessions];
}
