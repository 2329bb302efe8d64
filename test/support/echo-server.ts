import { connect, createServer } from "node:net";
import { listenLocally } from "./local-server.ts";

/** A server on this machine that returns what it receives. */
export interface EchoServer {
  readonly port: number;
  close(): void;
}

/** Starts an echo server on a free port. */
export async function startEchoServer(): Promise<EchoServer> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.pipe(socket);
  });
  return { port: await listenLocally(server), close: () => void server.close() };
}

/** Sends bytes to a port of this machine and receives as many. */
export async function echoed(port: number, bytes: Buffer): Promise<Buffer> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  let received = 0;
  const whole = new Promise<void>((resolve, reject) => {
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      received += chunk.length;
      if (received >= bytes.length) resolve();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`closed after ${received} bytes`)));
  });
  socket.write(bytes);
  await whole;
  socket.destroy();
  return Buffer.concat(chunks);
}
