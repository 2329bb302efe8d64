import { connect as connectHttp2 } from "node:http2";
import { Agent, request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import { constants, createGunzip } from "node:zlib";
import { inject } from "vitest";

/** A cut takes milliseconds; a busy machine gets a hundred times as long. */
export const cutWithinMs = 10_000;

/** A request to the gateway; the path begins after the host. */
export interface GatewayRequest {
  readonly method?: string;
  readonly path: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly replica?: number;
  readonly http2?: boolean;
  /** Whether the connection is kept for the next request; each has one of its own by default. */
  readonly keepAlive?: boolean;
  /** Another server than the gateway. */
  readonly server?: { readonly url: string; readonly certificateAuthority: string };
}

/** A whole answer. */
export interface GatewayAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** A request whose answer arrives bit by bit. */
export interface GatewayStream {
  readonly opened: Promise<number>;
  /** What has arrived. */
  text(): string;
  /** When the stream was over, and whether the client can take it for whole. */
  readonly ended: Promise<{ readonly at: number; readonly isWhole: boolean }>;
  close(): void;
}

function serverOf({ server, replica = 0 }: GatewayRequest): {
  readonly url: URL;
  readonly ca: string;
} {
  return server === undefined
    ? { url: gatewayUrl(replica), ca: inject("gateway")?.ca ?? "" }
    : { url: new URL(server.url), ca: server.certificateAuthority };
}

/** The address of a replica. */
export function gatewayUrl(replica = 0): URL {
  return new URL(inject("gateway")?.urls[replica] ?? "");
}

/** Sends a request and reads its answer whole. */
export async function askGateway(request: GatewayRequest): Promise<GatewayAnswer> {
  const stream = openGatewayStream(request);
  const status = await stream.opened;
  await stream.ended;
  if (request.keepAlive !== true) stream.close();
  return { status, headers: stream.headers(), text: stream.text() };
}

/** Sends a request and follows its answer. */
export function openGatewayStream(
  request: GatewayRequest,
): GatewayStream & { headers(): GatewayAnswer["headers"] } {
  return request.http2 === true ? overHttp2(request) : overHttp1(request);
}

/** Asks for an upgrade to a protocol, and follows what arrives after the 101. */
export function openGatewayUpgrade(request: GatewayRequest, protocol: string): GatewayStream {
  const { method = "GET", path } = request;
  const { url, ca } = serverOf(request);
  const { hostname, port } = url;
  const opened = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<{ readonly at: number; readonly isWhole: boolean }>();
  let text = "";
  const outgoing = httpsRequest({
    method,
    path,
    hostname,
    port,
    agent: false,
    ca,
    headers: { ...headersOf(request), connection: "Upgrade", upgrade: protocol },
  });
  outgoing.on("upgrade", ({ statusCode }, socket) => {
    socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
    socket.on("error", () => {});
    // Only a frame of the protocol shows that an upgrade is over.
    socket.on("close", () => ended.resolve({ at: performance.now(), isWhole: false }));
    opened.resolve(statusCode ?? 0);
  });
  outgoing.on("response", (incoming) => {
    incoming.resume();
    opened.resolve(incoming.statusCode ?? 0);
    ended.resolve({ at: performance.now(), isWhole: true });
  });
  outgoing.on("error", opened.reject);
  opened.promise.catch(() => {});
  outgoing.end();
  return {
    opened: opened.promise,
    ended: ended.promise,
    text: () => text,
    close: () => outgoing.destroy(),
  };
}

/** The text of a body, of which a part is decoded when it arrives. */
function decoded(body: Readable, headers: GatewayAnswer["headers"]): Readable {
  if (headers["content-encoding"] !== "gzip") return body.setEncoding("utf8");
  const plain = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
  return body.pipe(plain.on("error", () => {})).setEncoding("utf8");
}

function headersOf({ key, headers = {} }: GatewayRequest): Record<string, string> {
  return { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers };
}

const connections = new Agent({ keepAlive: true });

function overHttp1(request: GatewayRequest): ReturnType<typeof openGatewayStream> {
  const { method = "GET", path, body, keepAlive = false } = request;
  const { url, ca } = serverOf(request);
  const { hostname, port } = url;
  const opened = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<{ readonly at: number; readonly isWhole: boolean }>();
  let text = "";
  let headers: GatewayAnswer["headers"] = {};
  const outgoing = httpsRequest(
    {
      method,
      path,
      hostname,
      port,
      ca,
      agent: keepAlive && connections,
      headers: headersOf(request),
    },
    (incoming) => {
      headers = incoming.headers;
      decoded(incoming, headers).on("data", (chunk: string) => (text += chunk));
      incoming.on("error", () => {});
      incoming.on("close", () =>
        ended.resolve({ at: performance.now(), isWhole: incoming.complete }),
      );
      opened.resolve(incoming.statusCode ?? 0);
    },
  );
  outgoing.on("error", (error) => {
    opened.reject(error);
    ended.resolve({ at: performance.now(), isWhole: false });
  });
  opened.promise.catch(() => {});
  outgoing.end(body);
  return {
    opened: opened.promise,
    ended: ended.promise,
    text: () => text,
    headers: () => headers,
    close: () => outgoing.destroy(),
  };
}

function overHttp2(request: GatewayRequest): ReturnType<typeof openGatewayStream> {
  const { method = "GET", path, body } = request;
  const { url, ca } = serverOf(request);
  const session = connectHttp2(url.origin, { ca });
  session.on("error", () => {});
  const opened = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<{ readonly at: number; readonly isWhole: boolean }>();
  let text = "";
  let headers: GatewayAnswer["headers"] = {};
  const stream = session.request({ ":method": method, ":path": path, ...headersOf(request) });
  let isReset = false;
  stream.on("response", (found) => {
    headers = found;
    decoded(stream, headers).on("data", (chunk: string) => (text += chunk));
    opened.resolve(Number(found[":status"]));
  });
  stream.on("error", (error) => {
    isReset = true;
    opened.reject(error);
  });
  stream.on("close", () => {
    const isWhole = !isReset && stream.rstCode === 0;
    ended.resolve({ at: performance.now(), isWhole });
    session.close();
  });
  opened.promise.catch(() => {});
  stream.end(body);
  return {
    opened: opened.promise,
    ended: ended.promise,
    text: () => text,
    headers: () => headers,
    close: () => session.destroy(),
  };
}
