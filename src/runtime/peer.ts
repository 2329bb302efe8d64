import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Peer } from "./routes.ts";

/**
 * Clients by connection: parsing a client certificate takes longer than most responses, and it does
 * not change during a connection.
 */
const peers = new WeakMap<Socket, Peer>();

/** Identifies a connection; a TLS socket and the TCP socket below it have the same id. */
export function idOf({ remoteAddress = "", remotePort = 0, localAddress = "" }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

/**
 * The client of a connection; without a name unless the client CA signed its certificate and the
 * certificate is valid for clients.
 */
export function peerOf(socket: Socket): Peer {
  const known = peers.get(socket);
  if (known !== undefined) return known;
  const peer: Peer = { address: socket.remoteAddress ?? "", ...certified(socket) };
  peers.set(socket, peer);
  return peer;
}

function certified(socket: Socket): Omit<Peer, "address"> {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return { clientName: undefined };
  const name: unknown = socket.getPeerCertificate().subject?.CN;
  const certificate = socket.getPeerX509Certificate()?.toString();
  return {
    clientName: typeof name === "string" ? name : undefined,
    ...(certificate === undefined ? {} : { certificate }),
  };
}
