import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import { fetch } from "undici";
import { testCertificates } from "./gateway-fixture.ts";

/** A load balancer that opens TLS; its CA is in PEM. */
export interface RoundRobinFront {
  readonly url: string;
  readonly ca: string;
  /** The replicas, by the URL of their HTTP server; a test may change them. */
  replicas: readonly string[];
  /** Number of responses with a list of revoked tokens, by replica. */
  readonly lists: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/** Starts an HTTPS server on 127.0.0.1 that sends each request to the next replica. */
export async function startRoundRobinFront(port: number): Promise<RoundRobinFront> {
  const { ca, tls } = await testCertificates();
  const lists = new Map<string, number>();
  let turn = 0;
  const forward = async (target: string, outgoing: ServerResponse): Promise<void> => {
    turn += 1;
    const replica = front.replicas[turn % front.replicas.length] ?? "";
    const closed = new AbortController();
    outgoing.once("close", () => closed.abort());
    try {
      const response = await fetch(new URL(target, replica), { signal: closed.signal });
      const body = Buffer.from(await response.arrayBuffer());
      if (target.includes("/revoked") && response.status === 200)
        lists.set(replica, (lists.get(replica) ?? 0) + 1);
      outgoing.writeHead(response.status, { "content-type": "application/jwt" }).end(body);
    } catch {
      outgoing.destroy();
    }
  };
  const server = createServer(
    { cert: tls.certificate, key: tls.privateKey },
    ({ url = "" }, outgoing) => void forward(url, outgoing),
  );
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const front: RoundRobinFront = {
    ...{ url: `https://127.0.0.1:${port}`, ca, replicas: [], lists },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return front;
}
