import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import { testCertificates } from "./gateway-fixture.ts";
import { endServer, listenLocally } from "./local-server.ts";

/** A local HTTPS server; its CA is in PEM. */
export interface HttpsFront {
  readonly url: string;
  readonly ca: string;
  stop(): Promise<void>;
}

/** Starts an HTTPS server on 127.0.0.1. */
export async function startHttpsFront(handle: RequestListener, wanted = 0): Promise<HttpsFront> {
  const { ca, tls } = await testCertificates();
  const server = createServer({ cert: tls.certificate, key: tls.privateKey }, handle);
  const port = await listenLocally(server, wanted);
  return {
    url: `https://127.0.0.1:${port}`,
    ca,
    stop() {
      server.closeAllConnections();
      return endServer(server, []);
    },
  };
}
