import { createServer, type Socket } from "node:net";
import { eventually } from "./eventually.ts";
import { endServer, listenLocally } from "./local-server.ts";

/** A request that arrived whole and in the one form that every HTTP implementation reads alike. */
export interface RecordedRequest {
  readonly method: string;
  readonly target: string;
  /** With names in lower case. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  readonly connection: RecordedConnection;
}

/** A connection to the recorder. */
export interface RecordedConnection {
  readonly socket: Socket;
  /** Everything that arrived. */
  bytes(): Buffer;
  /** The same as Latin-1. */
  text(): string;
  /** From now on, bytes that arrive are of another protocol than HTTP. */
  becomeTunnel(): void;
  /** What arrived since. */
  tunnelled(): Buffer;
  isClosed(): boolean;
}

/** Answers a request that has arrived whole, or whose head has. */
export type Respond = (request: RecordedRequest, socket: Socket) => void;

/**
 * Records what an API server would have been sent, byte for byte. It is no API server: its answers
 * are what a test says.
 */
export interface UpstreamRecorder {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  readonly connections: readonly RecordedConnection[];
  /** What arrived in any other form, one sentence each. */
  readonly malformed: readonly string[];
  /** Called for each whole request; default: 200 with an empty object. */
  respond: Respond;
  /** Called for each head; the body of the request is empty then. */
  onHead: Respond;
  /** Resolves when so many whole requests have arrived. */
  arrived(count: number): Promise<void>;
  forget(): void;
  close(): Promise<void>;
}

/** An answer of HTTP/1.1 with a JSON body. */
export function answerText(status: number, body = "{}\n", fields: readonly string[] = []): string {
  const lines = [
    `HTTP/1.1 ${status} Text`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...fields,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** Answers with 200 and an empty object. */
export const respondOk: Respond = (_request, socket) => void socket.write(answerText(200));

/** Starts a recorder on a free port. */
export async function startUpstreamRecorder(): Promise<UpstreamRecorder> {
  const requests: RecordedRequest[] = [];
  const connections: RecordedConnection[] = [];
  const malformed: string[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    connections.push(
      recordConnection(socket, {
        onHead: (request) => recorder.onHead(request, socket),
        onWhole(request) {
          requests.push(request);
          recorder.respond(request, socket);
        },
        onMalformed: (problem) => void malformed.push(problem),
      }),
    );
  });
  const port = await listenLocally(server);
  const recorder: UpstreamRecorder = {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections,
    malformed,
    respond: respondOk,
    onHead() {},
    async arrived(count) {
      await eventually(() => requests.length >= count, {
        every: 2,
        what: `${count} requests to arrive`,
      });
    },
    forget() {
      requests.splice(0);
      malformed.splice(0);
    },
    close() {
      const sockets = connections.map(({ socket }) => socket);
      return endServer(server, sockets);
    },
  };
  return recorder;
}

interface Listeners {
  onHead(request: RecordedRequest): void;
  onWhole(request: RecordedRequest): void;
  onMalformed(problem: string): void;
}

function recordConnection(socket: Socket, listeners: Listeners): RecordedConnection {
  const all: Buffer[] = [];
  let rest = Buffer.alloc(0);
  let tunnelFrom: number | undefined;
  let isBroken = false;
  let headsSeen = 0;
  let wholeSeen = 0;
  const connection: RecordedConnection = {
    socket,
    bytes: () => Buffer.concat(all),
    text: () => Buffer.concat(all).toString("latin1"),
    becomeTunnel() {
      tunnelFrom = Buffer.concat(all).length;
    },
    tunnelled: () => Buffer.concat(all).subarray(tunnelFrom ?? Infinity),
    isClosed: () => socket.destroyed,
  };
  socket.on("error", () => {});
  socket.on("end", () => {
    if (tunnelFrom === undefined && rest.length > 0 && !isBroken)
      listeners.onMalformed(`the connection ended inside a request: ${quoted(rest)}`);
    socket.end();
  });
  socket.on("data", (chunk) => {
    all.push(chunk);
    if (tunnelFrom !== undefined || isBroken) return;
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const read = readRequest(rest, connection);
      if (read.kind === "malformed") {
        isBroken = true;
        return listeners.onMalformed(`${read.problem}: ${quoted(rest)}`);
      }
      if (read.kind !== "part" && headsSeen === wholeSeen) {
        headsSeen += 1;
        listeners.onHead(read.request);
      }
      if (read.kind !== "whole") return;
      wholeSeen += 1;
      rest = rest.subarray(read.length);
      listeners.onWhole(read.request);
      if (rest.length === 0 || tunnelFrom !== undefined) return;
    }
  });
  return connection;
}

type Read =
  | { readonly kind: "part" }
  | { readonly kind: "head"; readonly request: RecordedRequest }
  | { readonly kind: "whole"; readonly request: RecordedRequest; readonly length: number }
  | { readonly kind: "malformed"; readonly problem: string };

/** Reads the first request of some bytes, and nothing that two servers could read in two ways. */
function readRequest(bytes: Buffer, connection: RecordedConnection): Read {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return { kind: "part" };
  const [line = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const start = /^(GET|HEAD|POST|PUT|PATCH|DELETE) (\/[\x21-\x7e]*) HTTP\/1\.1$/.exec(line);
  if (start === null) return { kind: "malformed", problem: "the request line is odd" };
  const fields: [string, string][] = [];
  for (const text of lines) {
    const field =
      /^([a-zA-Z0-9%.-]+): ([\x21-\x7e\x80-\xff](?:[\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)$/.exec(
        text,
      );
    if (field === null) return { kind: "malformed", problem: "a field is odd" };
    fields.push([field[1]?.toLowerCase() ?? "", field[2] ?? ""]);
  }
  const [, method = "", target = ""] = start;
  const request = { method, target, fields, connection };
  const framing = framingOf(fields);
  if (framing === "malformed") return { kind: "malformed", problem: "the framing is odd" };
  const rest = bytes.subarray(end + 4);
  const body = framing === "chunked" ? chunkedBody(rest) : sizedBody(rest, framing);
  if (body === "malformed") return { kind: "malformed", problem: "a chunk is odd" };
  if (body === undefined) return { kind: "head", request: { ...request, body: Buffer.alloc(0) } };
  if ((method === "GET" || method === "HEAD") && framing !== 0)
    return { kind: "malformed", problem: `${method} has a body` };
  return {
    kind: "whole",
    request: { ...request, body: body.content },
    length: end + 4 + body.length,
  };
}

function framingOf(
  fields: readonly (readonly [string, string])[],
): number | "chunked" | "malformed" {
  const valuesOf = (name: string) => fields.filter(([found]) => found === name);
  const [lengths, codings, hosts] = [
    valuesOf("content-length"),
    valuesOf("transfer-encoding"),
    valuesOf("host"),
  ];
  if (hosts.length !== 1 || lengths.length + codings.length > 1) return "malformed";
  const [coding, length] = [codings[0]?.[1], lengths[0]?.[1]];
  if (coding !== undefined) return coding === "chunked" ? "chunked" : "malformed";
  if (length === undefined) return 0;
  return /^\d+$/.test(length) ? Number(length) : "malformed";
}

interface ReadBody {
  readonly content: Buffer;
  readonly length: number;
}

function sizedBody(rest: Buffer, length: number): ReadBody | undefined {
  return rest.length < length ? undefined : { content: rest.subarray(0, length), length };
}

function chunkedBody(rest: Buffer): ReadBody | "malformed" | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = rest.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const line = rest.subarray(at, lineEnd).toString("latin1");
    if (!/^[0-9a-fA-F]{1,8}$/.test(line)) return "malformed";
    const size = Number.parseInt(line, 16);
    const end = lineEnd + 2 + size;
    if (rest.length < end + 2) return undefined;
    if (rest.subarray(end, end + 2).toString("latin1") !== "\r\n") return "malformed";
    chunks.push(rest.subarray(lineEnd + 2, end));
    at = end + 2;
    if (size === 0) return { content: Buffer.concat(chunks), length: at };
  }
}

function quoted(bytes: Buffer): string {
  return JSON.stringify(bytes.subarray(0, 200).toString("latin1"));
}
