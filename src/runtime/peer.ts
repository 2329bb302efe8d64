import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Peer } from "./routes.ts";

const nobody: Peer = { clientName: undefined };

/**
 * Parsed client certificates by connection: parsing takes longer than most responses, and the
 * certificate does not change during a connection.
 */
const peers = new WeakMap<TLSSocket, Peer>();

/** Identifies a connection; a TLS socket and the TCP socket below it have the same id. */
export function idOf({ remoteAddress = "", remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * The client of a connection; without a name unless the client CA signed its certificate and the
 * certificate is valid for clients.
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
