import { createSecureContext, type SecureContext } from "node:tls";
import { buildConnector } from "undici";
import type { TlsMaterial } from "./credentials.ts";

/** Options of {@link createTlsConnector}. */
export interface TlsConnectorOptions {
  readonly tls: TlsMaterial;
  /** Idle time before the first TCP keepalive probe, in milliseconds; default: undici's. */
  readonly keepAliveInitialDelay?: number;
}

/**
 * Creates the function that opens the connections of a pool over HTTP/1.1. They share the parsed
 * certificates, and resume the TLS session of an earlier connection if the server allows it (RFC
 * 8446, section 2.2): a fan-out after idle time opens sixteen connections at once, whose full
 * handshakes take longer than a hundred writes. Invalid certificates are an error of each
 * connection.
 */
export function createTlsConnector({
  tls,
  ...keepAlive
}: TlsConnectorOptions): buildConnector.connector {
  const { ca, cert, key, ...verification } = tls;
  let secureContext: SecureContext | undefined;
  // undici's own cache has weak references, which do not survive a garbage collection.
  let session: Buffer | undefined;
  return (target, callback) => {
    try {
      secureContext ??= createSecureContext({
        ...(ca !== undefined && { ca }),
        ...(cert !== undefined && { cert }),
        ...(key !== undefined && { key }),
      });
    } catch (error) {
      const invalid = error instanceof Error ? error : new Error("invalid certificates");
      queueMicrotask(() => callback(invalid, null));
      return;
    }
    const connect = buildConnector({
      ...verification,
      ...keepAlive,
      ...(session !== undefined && { session }),
      allowH2: false,
      secureContext,
    });
    connect(target, (...result) => {
      const [error, socket] = result;
      if (error === null) socket.on("session", (ticket: Buffer) => void (session = ticket));
      else session = undefined;
      callback(...result);
    });
  };
}
