import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** A received request. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly socket: Socket;
  readonly answer: ServerResponse;
}

/** An HTTP server that passes every request to the test, without any behavior of Kubernetes. */
export interface SocketPeer {
  readonly url: string;
  readonly arrivals: readonly ReceivedRequest[];
  /** Resolves when `count` requests have arrived in total. */
  arrived(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Starts a server on a free port; `onRequest` may respond, or leave it to the test. */
export async function startPeer(
  onRequest: (arrival: ReceivedRequest) => void = () => {},
): Promise<SocketPeer> {
  const arrivals: ReceivedRequest[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((incoming, answer) => {
    let body = "";
    incoming.setEncoding("utf8").on("data", (text: string) => (body += text));
    incoming.on("end", () => {
      const arrival = {
        method: incoming.method ?? "",
        url: incoming.url ?? "",
        headers: incoming.headers,
        body,
        socket: incoming.socket,
        answer,
      };
      arrivals.push(arrival);
      for (const check of waiting) check();
      onRequest(arrival);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    arrivals,
    arrived: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (arrivals.length < count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Returns a handler that responds with a status and a text. */
export function answerWith(
  status: number,
  text = "{}",
  headers: Readonly<Record<string, string>> = {},
): (arrival: ReceivedRequest) => void {
  return ({ answer }) => void answer.writeHead(status, headers).end(text);
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("the peer has no port");
  return address.port;
}
