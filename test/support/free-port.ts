import { createServer } from "node:net";

const given = new Set<number>();

/**
 * A free TCP port of 127.0.0.1, below the kernel's range for outgoing connections, and never
 * returned twice.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (given.has(port) || !(await canListen(port))) continue;
    given.add(port);
    return port;
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
