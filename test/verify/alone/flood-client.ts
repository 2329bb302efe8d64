import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectTls } from "node:tls";
import { managementPath } from "../../support/gateway-address.ts";

/** A gateway and the addresses from which clients come. */
export interface FloodedServer {
  readonly url: string;
  readonly ca: string;
}

/** The body of a request that its client does not end. */
export interface OpenBody {
  /** What the head says. */
  readonly length: number;
  /** How many bytes are sent. */
  readonly sent: number;
}

/** Requests that are sent with each key, and not read. */
export interface Flood {
  readonly path: string;
  /** How many with each key. */
  readonly count: number;
  readonly body?: OpenBody;
}

/** What a process of attackers does. */
export interface FloodTerms extends FloodedServer {
  readonly keys: readonly string[];
  readonly floods: readonly Flood[];
  /** Connections over which nothing is sent. */
  readonly connections: number;
  /** Connections over which this token is sent again and again, each time with another signature. */
  readonly forgeries?: { readonly token: string; readonly connections: number };
}

/** Connects from a local address. */
export function openSession({ url, ca }: FloodedServer, localAddress: string): ClientHttp2Session {
  const port = Number(new URL(url).port);
  const session = connect(url, {
    createConnection: () =>
      connectTls({
        ...{ host: "127.0.0.1", port, ca, localAddress },
        ...{ servername: "localhost", ALPNProtocols: ["h2"] },
      }),
  });
  return session.on("error", () => {});
}

/** Sends a request and returns its status, or 0 if it ends without one. */
export function send(
  over: ClientHttp2Session,
  { path, key, body }: { readonly path: string; readonly key: string; readonly body?: OpenBody },
): Promise<number> {
  const stream = over.request(
    {
      ":method": body === undefined ? "GET" : "POST",
      ":path": managementPath + path,
      authorization: `Bearer ${key}`,
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": body.length }),
    },
    { endStream: body === undefined },
  );
  if (body !== undefined) stream.write(" ".repeat(body.sent));
  return new Promise((resolve) => {
    stream.once("response", (head) => resolve(Number(head[":status"])));
    stream.on("error", () => {});
    stream.once("close", () => resolve(0));
    stream.resume();
  });
}
