import type { Server } from "node:net";
import type { Duplex } from "node:stream";

/** A server on 127.0.0.1. */
export interface LocalServer {
  readonly port: number;
  /** Ends the server and its connections. */
  stop(): Promise<void>;
}

/** Makes a server listen on 127.0.0.1, by default on a free port; returns its port. */
export async function listenLocally(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

/** Ends a server that listens, and its connections. */
export function endServer(server: Server, sockets: Iterable<Duplex>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
  });
}

/** Connections that are destroyed with their server; their errors are ignored. */
export class KeptSockets extends Set<Duplex> {
  keep(socket: Duplex): void {
    this.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.delete(socket));
  }
}
