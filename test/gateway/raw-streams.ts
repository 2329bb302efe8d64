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
  const post = { method: "POST", path: `${prefix}/api/v1/namespaces/web/pods` };
  const open = flags.endHeaders;

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
      frames: [
        headers(1, requestFields([["expect", "100-continue"]], post), open),
        data(1, "hello"),
      ],
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
        frame("continuation", {
          stream: 1,
          payload: headerBlock([["x-long", "a".repeat(16_000)]]),
        }),
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
      frames: [
        frame("headers", { stream: 1, flags: 5, payload: Buffer.from("ffffffffff", "hex") }),
      ],
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
      frames: [Buffer.from(`GET ${prefix}/api HTTP/1.1\r\nHost: gateway\r\n\r\n`)],
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

  return [...bodies, ...sessions];
}
