import { connect, createServer, type Socket } from "node:net";
import { endServer, KeptSockets, listenLocally, type LocalServer } from "./local-server.ts";

/** A proxy to a server on the loopback interface that can drop packets. */
export interface TcpProxy extends LocalServer {
  /**
   * From now on drops all data, in both directions of every connection, and every connection stays
   * open.
   */
  swallow(): void;
  /**
   * Forwards new connections again; connections that were open while data was dropped stay silent,
   * as after a lost NAT entry.
   */
  heal(): void;
  /**
   * From now on closes the connection on each chunk of data with this probability; 0 disables that.
   */
  reset(probability: number): void;
}

/** Starts a proxy on 127.0.0.1 in front of a port of the same address. */
export async function startTcpProxy(upstreamPort: number): Promise<TcpProxy> {
  let isSwallowing = false;
  let resetting = 0;
  const sockets = new KeptSockets();
  const pairs = new Set<{ isDead: boolean }>();
  const server = createServer((client) => {
    const pair = { isDead: isSwallowing };
    pairs.add(pair);
    sockets.keep(client);
    const upstream = pair.isDead ? undefined : connect(upstreamPort, "127.0.0.1");
    const pass = (from: Socket, to: Socket | undefined): void => {
      from.on("data", (bytes) => {
        if (Math.random() < resetting) {
          from.resetAndDestroy();
          to?.resetAndDestroy();
        } else if (!pair.isDead) to?.write(bytes);
      });
      from.on("close", () => {
        if (!pair.isDead) to?.destroy();
      });
    };
    pass(client, upstream);
    if (upstream === undefined) return;
    sockets.keep(upstream);
    pass(upstream, client);
  });
  const port = await listenLocally(server);
  return {
    port,
    swallow() {
      isSwallowing = true;
      for (const pair of pairs) pair.isDead = true;
    },
    heal: () => void (isSwallowing = false),
    reset: (probability) => void (resetting = probability),
    stop: () => endServer(server, sockets),
  };
}
