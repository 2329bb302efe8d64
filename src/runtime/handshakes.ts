import type { Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";
import { FairShares, type Share } from "./fair-shares.ts";
import { idOf } from "./peer.ts";

/** TLS handshakes of a server at a time; each takes about a millisecond of processor time. */
export const mostHandshakes = 256;

/**
 * Lets the TLS handshakes of a server take turns by address. Otherwise a flood of connections from
 * one address keeps the process from the handshakes of the others until their time is over. A
 * connection that waits is open, and what its client sends is read when its turn comes.
 */
export function shareHandshakes(server: Server, most = mostHandshakes): void {
  const shares = new FairShares({ all: most });
  const pending = new Map<string, Share>();
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const id = idOf(socket);
    const share = shares.ask({ user: socket.remoteAddress ?? "", key: "" }, 1);
    pending.set(id, share);
    socket.once("close", () => {
      if (pending.get(id) === share) pending.delete(id);
      share.end();
    });
    // Until its turn, an error of the socket has no listener.
    socket.on("error", () => {});
    share.enter(() => {
      for (const listener of listeners) listener.call(server, socket);
    });
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    const id = idOf(socket);
    pending.get(id)?.end();
    pending.delete(id);
  });
}
