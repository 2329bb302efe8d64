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

/** The IP address of a client; a server of both families sees IPv4 as `::ffff:10.0.0.1`. */
export function addressOf({ remoteAddress = "" }: Pick<Socket, "remoteAddress">): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/, "");
}

/**
 * What shares count as one client: an IPv4 address, and of an IPv6 address the first 64 bits, of
 * which a host may have all addresses (RFC 4291, section 2.5.1).
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [first = ""] = address.split("::");
  return [...first.split(":").filter(Boolean), "0", "0", "0", "0"].slice(0, 4).join(":");
}

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
  const address = addressOf(socket);
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
