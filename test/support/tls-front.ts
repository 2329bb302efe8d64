import { connect, createServer } from "node:tls";
import type { ControlPlane } from "./control-plane-handle.ts";
import { newTestCertificates, type TestCertificates } from "./gateway-fixture.ts";
import { endServer, KeptSockets, listenLocally } from "./local-server.ts";

/** An address of an API server with a certificate that a test changes. */
export interface TlsFront {
  readonly url: string;
  /** Shows another certificate on new connections. */
  present(certificates: TestCertificates): void;
  /** Closes every connection. */
  cut(): void;
  stop(): Promise<void>;
}

/** Starts a server that ends TLS, and passes what is in it on to an API server. */
export async function startTlsFront(
  { url, certificateAuthority: ca }: Pick<ControlPlane, "url" | "certificateAuthority">,
  first: TestCertificates,
): Promise<TlsFront> {
  const { hostname: host, port } = new URL(url);
  const contextOf = ({ tls }: TestCertificates) => ({ cert: tls.certificate, key: tls.privateKey });
  const sockets = new KeptSockets();
  const server = createServer(contextOf(first), (client) => {
    const upstream = connect({ host, port: Number(port), ca, ALPNProtocols: ["http/1.1"] });
    for (const socket of [client, upstream]) sockets.keep(socket);
    client.pipe(upstream).pipe(client);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  server.on("tlsClientError", () => {});
  const own = await listenLocally(server);
  return {
    url: `https://127.0.0.1:${own}`,
    present: (certificates) => server.setSecureContext(contextOf(certificates)),
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    stop: () => endServer(server, sockets),
  };
}

/** So many certificates, each of a CA of its own. */
export function severalCertificates(count: number): Promise<readonly TestCertificates[]> {
  return Promise.all(Array.from({ length: count }, newTestCertificates));
}
