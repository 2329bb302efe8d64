import { execFileSync } from "node:child_process";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { isTrueAt, listAt, numberAt, recordAt, stringsAt } from "../../src/api/parse.ts";
import { admin, type Connection, get, send } from "../support/cluster-connection.ts";

/** Where a connection goes. */
export interface Backend {
  readonly host: string;
  readonly port: number;
}

const pollMs = 200;

/**
 * Does what kube-proxy does for one port of a Service: new connections go to the backends in turn,
 * open ones stay where they are. It needs the address on this machine, and adds it.
 */
export async function proxyService(
  { host, port }: Backend,
  backends: () => readonly Backend[],
): Promise<void> {
  execFileSync("ip", ["address", "add", `${host}/32`, "dev", "lo"]);
  let turn = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const ready = backends();
    const chosen = ready[turn++ % ready.length];
    if (chosen === undefined) return void client.resetAndDestroy();
    const upstream = connect({ ...chosen, allowHalfOpen: true });
    join(client, upstream);
    join(upstream, client);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  });
}

function join(from: Socket, to: Socket): void {
  from.setNoDelay(true);
  from.pipe(to);
  from.on("error", () => to.resetAndDestroy());
}

/** Follows the ready endpoints of a Service; the last known ones while the API server is away. */
export function followEndpoints(
  connection: Connection,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): () => readonly Backend[] {
  const query = `labelSelector=kubernetes.io/service-name%3D${name}`;
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?${query}`;
  let backends: readonly Backend[] = [];
  const look = async (): Promise<never> => {
    for (;;) {
      const slices = await send(connection, admin, get(path)).catch(() => undefined);
      if (slices?.code === 200) backends = listAt(slices, "items").flatMap(readyIn);
      await pause(pollMs);
    }
  };
  void look();
  return () => backends;
}

function readyIn(slice: unknown): readonly Backend[] {
  const [first] = listAt(slice, "ports");
  const port = numberAt(first, "port");
  if (port === undefined) return [];
  const ready = listAt(slice, "endpoints").filter((endpoint) =>
    isTrueAt(recordAt(endpoint, "conditions"), "ready"),
  );
  return ready
    .flatMap((endpoint) => stringsAt(endpoint, "addresses"))
    .map((host) => ({ host, port }));
}
