import { connect, createServer, type Socket } from "node:net";
import type { ConnectProxy } from "./connect-proxy.ts";
import { endServer, KeptSockets, listenLocally } from "./local-server.ts";

/**
 * Starts a SOCKS5 proxy (RFC 1928, RFC 1929) on 127.0.0.1 that connects each `host:port` of the
 * routes to the URL there, and refuses all others with reply 4. With a login, it serves nobody else.
 */
export async function startSocksProxy(
  routes: Readonly<Record<string, string>>,
  login?: string,
): Promise<ConnectProxy> {
  const sockets = new KeptSockets();
  const asked: string[] = [];
  let refused: number | undefined;
  const serve = async (client: Socket): Promise<void> => {
    const bytes = readerOf(client);
    const [, count = 0] = await bytes(2);
    const methods = await bytes(count);
    const method = login === undefined ? 0 : 2;
    if (!methods.includes(method)) return void client.end(Buffer.from([5, 0xff]));
    client.write(Buffer.from([5, method]));
    if (login !== undefined) {
      const [, length = 0] = await bytes(2);
      const user = await bytes(length);
      const password = await bytes((await bytes(1))[0] ?? 0);
      const isKnown = `${user.toString()}:${password.toString()}` === login;
      client.write(Buffer.from([1, isKnown ? 0 : 1]));
      if (!isKnown) return void client.end();
    }
    const [, , , kind] = await bytes(4);
    const host = await hostOf(kind ?? 0, bytes);
    const name = `${host}:${(await bytes(2)).readUInt16BE()}`;
    asked.push(name);
    const target = routes[name];
    const reply = refused ?? (target === undefined ? 4 : 0);
    const answer = Buffer.from([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]);
    if (reply !== 0 || target === undefined) return void client.end(answer);
    const { hostname, port } = new URL(target);
    const upstream = connect(Number(port), hostname, () => {
      // In parts, as a network may deliver it.
      client.write(answer.subarray(0, 5));
      client.write(answer.subarray(5));
      client.removeAllListeners("readable");
      client.pipe(upstream).pipe(client);
    });
    sockets.keep(upstream);
    upstream.on("close", () => client.destroy());
    client.on("close", () => upstream.destroy());
  };
  const server = createServer((client) => {
    sockets.keep(client);
    void serve(client);
  });
  return {
    url: `socks5://127.0.0.1:${await listenLocally(server)}`,
    asked,
    refuse: (status) => void (refused = status),
    stop: () => endServer(server, sockets),
  };
}

type Read = (count: number) => Promise<Buffer>;

function readerOf(client: Socket): Read {
  let wake = (): void => {};
  client.on("readable", () => wake());
  return async (count) => {
    for (;;) {
      const bytes: unknown = count === 0 ? Buffer.alloc(0) : client.read(count);
      if (Buffer.isBuffer(bytes)) return bytes;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
}

async function hostOf(kind: number, bytes: Read): Promise<string> {
  if (kind === 3) return (await bytes((await bytes(1))[0] ?? 0)).toString();
  if (kind === 1) return [...(await bytes(4))].join(".");
  return `[${(await bytes(16)).toString("hex")}]`;
}
