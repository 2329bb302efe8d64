import { createServer } from "node:net";
import { loopback } from "./loopback.ts";

const given = new Set<number>();

/**
 * A free TCP port of the loopback, below the kernel's range for outgoing connections, and never
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
    server.listen(port, loopback, () => server.close(() => resolve(true)));
  });
}
