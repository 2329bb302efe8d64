import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** The client of a connection. */
export interface Peer {
  /**
   * The common name of a client certificate signed by the server's client CA; undefined without
   * one.
   */
  readonly clientName: string | undefined;
  /** IP address. */
  readonly address: string;
  /** The client certificate, in PEM. */
  readonly certificate?: string;
}

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
  const peer = newPeer(socket);
  peers.set(socket, peer);
  return peer;
}

function newPeer(socket: Socket): Peer {
  const address = socket.remoteAddress ?? "";
  if (!(socket instanceof TLSSocket) || !socket.authorized)
    return { clientName: undefined, address };
  const name: unknown = socket.getPeerCertificate().subject?.CN;
  const certificate = socket.getPeerX509Certificate()?.toString();
  return {
    clientName: typeof name === "string" ? name : undefined,
    address,
    ...(certificate === undefined ? {} : { certificate }),
  };
}
