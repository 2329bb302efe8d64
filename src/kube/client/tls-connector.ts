import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { buildConnector } from "undici";
import type { Clock } from "../../runtime/clock.ts";
import type { Credentials } from "../credentials/credentials.ts";
import { openTunnel } from "./proxy-tunnel.ts";

/** Options of {@link createTlsConnector}. */
interface TlsConnectorOptions extends Pick<Credentials, "tls" | "proxy"> {
  readonly clock: Clock;
  /** Idle time before the first TCP keepalive probe, in milliseconds; default: undici's. */
  readonly keepAliveInitialDelay?: number;
  /** Maximum time to connect, and to get through the proxy, in milliseconds; default: undici's. */
  readonly timeout?: number;
}

/**
 * How long sessions are resumed before a certificate is verified again, in milliseconds: each
 * resumed connection of kube-apiserver provides another session, without end.
 */
const longestTrustMs = 3_600_000;

/**
 * Creates the function that opens the connections of a pool over HTTP/1.1. They share the parsed
 * certificates, and resume the TLS session of an earlier connection if the server allows it (RFC
 * 8446, section 2.2): a fan-out after idle time opens sixteen connections at once. Invalid
 * certificates are an error of each connection. Behind a proxy it is the same, in a tunnel.
 */
export function createTlsConnector({
  tls,
  proxy,
  clock,
  ...connecting
}: TlsConnectorOptions): buildConnector.connector {
  const { ca, cert, key, ...verification } = tls;
  let secureContext: SecureContext | undefined;
  // undici's own cache has weak references, which do not survive a garbage collection.
  let session: Buffer | undefined;
  let verifiedAt = -Infinity;
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
    const isTrusted = clock.monotonic() - verifiedAt < longestTrustMs;
    const connect = buildConnector({
      ...verification,
      ...connecting,
      ...(isTrusted && session !== undefined && { session }),
      allowH2: false,
      secureContext,
    });
    const finish: buildConnector.Callback = (...result) => {
      const [error, socket] = result;
      if (error !== null) session = undefined;
      else if (socket instanceof TLSSocket) {
        if (!socket.isSessionReused()) verifiedAt = clock.monotonic();
        socket.on("session", (ticket: Buffer) => void (session = ticket));
      }
      callback(...result);
    };
    if (proxy === undefined) {
      connect(target, finish);
      return;
    }
    const to = { host: target.hostname, port: Number(target.port) || defaultPort(target) };
    openTunnel(proxy, to, connecting.timeout).then(
      (httpSocket) =>
        target.protocol === "https:"
          ? connect({ ...target, httpSocket }, finish)
          : finish(null, httpSocket),
      (error: Error) => finish(error, null),
    );
  };
}

function defaultPort({ protocol }: buildConnector.Options): number {
  return protocol === "https:" ? 443 : 80;
}
