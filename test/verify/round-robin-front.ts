import type { ServerResponse } from "node:http";
import { fetch } from "undici";
import { type HttpsFront, startHttpsFront } from "../support/https-front.ts";

/** A load balancer that opens TLS; its CA is in PEM. */
export interface RoundRobinFront extends HttpsFront {
  /** The replicas, by the URL of their HTTP server; a test may change them. */
  replicas: readonly string[];
  /** Number of responses with a list of revoked tokens, by replica. */
  readonly lists: ReadonlyMap<string, number>;
}

/** Starts an HTTPS server on 127.0.0.1 that sends each request to the next replica. */
export async function startRoundRobinFront(port: number): Promise<RoundRobinFront> {
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
  const https = await startHttpsFront(
    ({ url = "" }, outgoing) => void forward(url, outgoing),
    port,
  );
  const front: RoundRobinFront = { ...https, replicas: [], lists };
  return front;
}
