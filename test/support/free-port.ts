import { createServer } from "node:net";
import { loopback } from "./loopback.ts";

const given = new Set<number>();
/** Workers of one test run that get no port of each other. */
const workers = 8;
const worker = Number(process.env["VITEST_POOL_ID"] ?? 0) % workers;

/**
 * A free TCP port of the loopback, below the kernel's range for outgoing connections, and never
 * returned twice, also not to another worker: a stopped process gets its port again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + workers * Math.floor((Math.random() * 12_000) / workers) + worker;
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
