import { connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { endServer, listenLocally, type LocalServer } from "../support/local-server.ts";
import type { WebhookProcess } from "../support/latchkey-process.ts";

/** A replica behind the balancer. */
export type Backend = Pick<WebhookProcess, "url" | "webhookUrl">;

/**
 * One address for several replicas, like a Service: new connections go to the ready replicas in
 * turn, open ones stay where they are.
 */
export interface TcpBalancer extends LocalServer {
  add(backend: Backend): void;
  /** Whether new connections go to this replica. */
  sends(backend: Backend): boolean;
}

/** As slow as the readiness probe of a kubelet and the update of kube-proxy can be. */
const pollMs = 1_000;

/** The `timeoutSeconds` of the readiness probes in config. */
const probeTimeoutMs = 5_000;

/**
 * Starts a balancer on 127.0.0.1; it polls `/readyz`, so changes are known up to a second later,
 * including the exit of a replica.
 */
export async function startTcpBalancer(): Promise<TcpBalancer> {
  const backends = new Map<Backend, { isReady: boolean; failures: number }>();
  const sockets = new Set<Socket>();
  let [turn, isStopped] = [0, false];
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const ready = [...backends].flatMap(([backend, { isReady }]) => (isReady ? [backend] : []));
    const chosen = ready[turn++ % ready.length];
    if (chosen === undefined) return void client.destroy();
    const upstream = connect({
      port: Number(new URL(chosen.webhookUrl).port),
      host: "127.0.0.1",
      allowHalfOpen: true,
    });
    join(client, upstream);
    join(upstream, client);
  });
  function join(from: Socket, to: Socket): void {
    sockets.add(from);
    from.setNoDelay(true);
    // A FIN is forwarded as a FIN, and any other end of a connection closes both sides.
    from.pipe(to);
    from.on("error", () => to.resetAndDestroy());
    from.on("close", () => sockets.delete(from));
  }
  async function look(): Promise<void> {
    while (!isStopped) {
      const looks = [...backends].map(async ([backend, state]) => {
        state.isReady = await isReady(backend, state.isReady);
        // A replica that has exited does not respond.
        state.failures = state.isReady ? 0 : state.failures + 1;
        if (state.failures > 60) backends.delete(backend);
      });
      await Promise.all([...looks, pause(pollMs)]);
    }
  }
  const port = await listenLocally(server);
  void look();
  return {
    port,
    add: (backend) => void backends.set(backend, { isReady: false, failures: 0 }),
    sends: (backend) => backends.get(backend)?.isReady === true,
    stop() {
      isStopped = true;
      return endServer(server, sockets);
    },
  };
}

/** A replica that is too busy to answer stays what it was, as for a kubelet until the third probe. */
async function isReady({ url }: Backend, wasReady: boolean): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(probeTimeoutMs) })).ok;
  } catch (error) {
    return wasReady && error instanceof Error && error.name === "TimeoutError";
  }
}
