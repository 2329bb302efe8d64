import type { TLSSocket } from "node:tls";
import { setTimeout as pause } from "node:timers/promises";
import { type GatewayFixture, openConnection } from "./gateway-fixture.ts";

/** Types of frames (RFC 9113, section 6). */
export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags of frames. */
export const flags = { endStream: 1, ack: 1, endHeaders: 4, padded: 8 } as const;

/** A frame that was received. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A frame as bytes. */
export function frame(
  type: keyof typeof frameTypes,
  { stream = 0, flags: set = 0, payload = Buffer.alloc(0) }: Partial<Omit<Frame, "type">>,
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = frameTypes[type];
  head[4] = set;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header list in HPACK (RFC 7541), every field as a literal that is not kept. */
export function headerBlock(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

/** A field that the receiver keeps, and a reference to it of one byte (a "bomb" of HPACK). */
export function keptField(
  name: string,
  value: string,
): { readonly first: Buffer; readonly again: Buffer } {
  return {
    first: Buffer.concat([Buffer.of(0x40), text(name), text(value)]),
    again: Buffer.of(0xbe),
  };
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

/** The preface of a client, with settings (identifier and value in turn). */
export function preface(settings: readonly number[] = []): Buffer {
  const payload = Buffer.alloc(settings.length * 3);
  for (let at = 0; at + 1 < settings.length; at += 2) {
    payload.writeUInt16BE(settings[at] ?? 0, at * 3);
    payload.writeUInt32BE(settings[at + 1] ?? 0, at * 3 + 2);
  }
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frame("settings", { payload }),
  ]);
}

/** The head of a request; by default, it has no body. */
export function headers(
  stream: number,
  fields: readonly (readonly [string, string])[],
  set: number = flags.endHeaders | flags.endStream,
): Buffer {
  return frame("headers", { stream, flags: set, payload: headerBlock(fields) });
}

/** A part of a body; by default, the last one. */
export function data(
  stream: number,
  content: string | Buffer,
  set: number = flags.endStream,
): Buffer {
  return frame("data", { stream, flags: set, payload: Buffer.from(content) });
}

/** An end of a stream by its client. */
export function reset(stream: number, code = 8): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return frame("reset", { stream, payload });
}

/** A grant of so many bytes, for a stream or, as 0, for the connection. */
export function windowUpdate(stream: number, bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame("windowUpdate", { stream, payload });
}

/** What a server did with a stream. */
export interface StreamEnd {
  /** Undefined if it sent no head; the first head alone counts. */
  readonly status: number | undefined;
  /** Of all heads, interim ones included. */
  readonly statuses: readonly number[];
  readonly body: Buffer;
  readonly isWhole: boolean;
  /** The code of its RST_STREAM. */
  readonly resetCode: number | undefined;
}

/** A connection on which a test writes frames. */
export interface RawSession {
  readonly socket: TLSSocket;
  write(...parts: readonly Buffer[]): void;
  frames(): readonly Frame[];
  stream(id: number): StreamEnd;
  /** The code of the server's GOAWAY. */
  goawayCode(): number | undefined;
  isClosed(): boolean;
  /** Resolves when so, or after `withinMs`. */
  until(isDone: () => boolean, withinMs?: number): Promise<void>;
  destroy(): void;
}

/** Options of {@link rawSession}. */
export interface RawSessionOptions {
  /** Whether the settings of the server are acknowledged; default: yes. */
  readonly acknowledges?: boolean;
  readonly settings?: readonly number[];
}

/** Opens a connection of HTTP/2 to a gateway and sends its preface. */
export async function rawSession(
  gateway: Pick<GatewayFixture, "port" | "ca">,
  { acknowledges = true, settings = [] }: RawSessionOptions = {},
): Promise<RawSession> {
  const socket = await openConnection(gateway, ["h2"]);
  const frames: Frame[] = [];
  let rest = Buffer.alloc(0);
  let isClosed = false;
  socket.on("end", () => (isClosed = true));
  socket.on("close", () => (isClosed = true));
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const length = rest.readUIntBE(0, 3);
      const [type = 0, set = 0] = [rest[3], rest[4]];
      const payload = rest.subarray(9, 9 + length);
      frames.push({ type, flags: set, stream: rest.readUInt32BE(5), payload });
      rest = rest.subarray(9 + length);
      if (acknowledges && type === frameTypes.settings && (set & flags.ack) === 0)
        socket.write(frame("settings", { flags: flags.ack }));
    }
  });
  socket.write(preface(settings));
  return {
    socket,
    write: (...parts) => void socket.write(Buffer.concat(parts)),
    frames: () => frames,
    stream: (id) => streamEnd(frames.filter(({ stream }) => stream === id)),
    goawayCode: () =>
      frames.find(({ type }) => type === frameTypes.goaway)?.payload.readUInt32BE(4),
    isClosed: () => isClosed,
    async until(isDone, withinMs = 60_000) {
      const deadline = performance.now() + withinMs;
      while (!isDone() && performance.now() < deadline) await pause(2);
    },
    destroy: () => void socket.destroy(),
  };
}

function streamEnd(frames: readonly Frame[]): StreamEnd {
  const heads = frames.filter(({ type }) => type === frameTypes.headers);
  const statuses = heads.map(({ payload }) => statusOf(payload));
  const last = frames.findLast(
    ({ type }) => type === frameTypes.headers || type === frameTypes.data,
  );
  return {
    status: statuses[0],
    statuses,
    body: Buffer.concat(
      frames.filter(({ type }) => type === frameTypes.data).map(({ payload }) => payload),
    ),
    isWhole: last !== undefined && (last.flags & flags.endStream) !== 0,
    resetCode: frames.find(({ type }) => type === frameTypes.reset)?.payload.readUInt32BE(0),
  };
}

const indexedStatuses = [200, 204, 206, 304, 400, 404, 500];
/** Codes of digits (RFC 7541, appendix B). */
const digits = [
  "00000",
  "00001",
  "00010",
  "011001",
  "011010",
  "011011",
  "011100",
  "011101",
  "011110",
  "011111",
];

/** The status in a block, whose first field it is; the block must be the first of its connection. */
function statusOf(block: Buffer): number {
  const [first = 0, length = 0] = block;
  if (first >= 0x88 && first <= 0x8e) return indexedStatuses[first - 0x88] ?? 0;
  const value = block.subarray(2, 2 + (length & 0x7f));
  if (length < 0x80) return Number(value.toString("latin1"));
  const bits = [...value].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  let status = "";
  for (let at = 0; status.length < 3 && at < bits.length;) {
    const digit = digits.findIndex((code) => bits.startsWith(code, at));
    if (digit < 0) return 0;
    status += digit;
    at += digits[digit]?.length ?? 1;
  }
  return Number(status);
}
