import type { TLSSocket } from "node:tls";
import { setTimeout as pause } from "node:timers/promises";
import {
  aliceKey,
  type GatewayFixture,
  managementPath,
  openConnection,
} from "./gateway-fixture.ts";

/** What came back over a connection. */
export interface RawAnswer {
  /** A character for each byte. */
  readonly text: string;
  /** The statuses of all answers, interim ones included. */
  readonly statuses: readonly number[];
  readonly isClosed: boolean;
}

/** A connection on which a test writes bytes. */
export interface RawConnection {
  readonly socket: TLSSocket;
  write(bytes: string | Buffer): void;
  answer(): RawAnswer;
  /** Resolves when the answer is as wanted, or after `withinMs`. */
  until(isDone: (answer: RawAnswer) => boolean, withinMs?: number): Promise<RawAnswer>;
  destroy(): void;
}

/** Opens a connection of HTTP/1.1 to a gateway. */
export async function rawConnection(
  gateway: Pick<GatewayFixture, "port" | "ca">,
): Promise<RawConnection> {
  const socket = await openConnection(gateway);
  let text = "";
  let isClosed = false;
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.on("end", () => (isClosed = true));
  socket.on("close", () => (isClosed = true));
  const answer = (): RawAnswer => ({
    text,
    get statuses() {
      return [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
    },
    isClosed,
  });
  return {
    socket,
    write: (bytes) => void socket.write(typeof bytes === "string" ? latin1(bytes) : bytes),
    answer,
    async until(isDone, withinMs = 60_000) {
      const deadline = performance.now() + withinMs;
      while (!isDone(answer()) && performance.now() < deadline) await pause(2);
      return answer();
    },
    destroy: () => void socket.destroy(),
  };
}

/** The text of a request of HTTP/1.1 with alice's key; fields are whole lines. */
export function requestText(line: string, fields: readonly string[] = [], body = ""): string {
  const [method = "GET", path = "/api"] = line.split(" ");
  const start = `${method} ${managementPath}${path} HTTP/1.1`;
  return `${[start, "Host: gateway", `Authorization: Bearer ${aliceKey}`, ...fields].join("\r\n")}\r\n\r\n${body}`;
}

/** Sends a request over a connection of its own and reads its answer. */
export async function askRaw(
  gateway: Pick<GatewayFixture, "port" | "ca">,
  text: string | Buffer,
): Promise<RawAnswer> {
  const connection = await rawConnection(gateway);
  connection.write(text);
  const answer = await connection.until(
    ({ statuses, isClosed }) => isClosed || statuses.some((status) => status >= 200),
  );
  connection.destroy();
  return answer;
}

function latin1(text: string): Buffer {
  return Buffer.from(text, "latin1");
}
