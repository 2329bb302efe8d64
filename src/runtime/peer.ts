import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Peer } from "./routes.ts";

const nobody: Peer = { clientName: undefined };

/**
 * Reading a certificate takes longer than most answers; it stays the same as long as the
 * connection.
 */
const peers = new WeakMap<TLSSocket, Peer>();

/** What names a connection: a TLS connection and what it runs over have the same. */
export function idOf({ remoteAddress = "", remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * The client of a connection, if the authority signed its certificate and it may be shown by
 * clients.
 */
export function peerOf(socket: Socket): Peer {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return nobody;
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const name: unknown = socket.getPeerCertificate().subject?.CN;
  const certificate = socket.getPeerX509Certificate()?.toString();
  const peer: Peer = {
    clientName: typeof name === "string" ? name : undefined,
    ...(certificate === undefined ? {} : { certificate }),
  };
  peers.set(socket, peer);
  return peer;
}
