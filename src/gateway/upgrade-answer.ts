import { type IncomingMessage, STATUS_CODES } from "node:http";
import { Transform } from "node:stream";
import { valuesOfField } from "../domain/gateway/raw-headers.ts";
import type { Timers } from "../runtime/clock.ts";
import type { UpgradeExchange } from "../runtime/exchange.ts";

/** Longest wait for a client that was refused and does not close the connection. */
const refusedMs = 2_000;

/**
 * Longest wait for a client that has megabytes of the output of a command to read before the end.
 * Its connection counts in its limits until then, as that of an idle command.
 */
export const endedMs = 600_000;

/**
 * Closes a connection after what was written to it. What the client still sends is thrown away, and
 * it has time to read: if it sends anything to a connection that is closed, such as the ping of a
 * WebSocket, the kernel drops what it has not read (RFC 9293, section 3.10.7.1).
 */
export function closeAnswered(
  socket: UpgradeExchange["socket"],
  clock: Timers,
  mostMs = refusedMs,
): void {
  // A pipe that ends later would pause the socket again.
  socket.unpipe();
  socket.resume();
  socket.end(() => {
    if (socket.readableEnded) return void socket.destroy();
    const cancel = clock.wakeAfter(mostMs, () => socket.destroy());
    socket.once("end", () => socket.destroy());
    socket.once("close", cancel);
  });
}

/**
 * Sends an answer that changes no protocol. One without a length is sent in chunks: the end of the
 * connection would make one that is cut look whole.
 */
export function sendPlainAnswer(
  { head, socket }: UpgradeExchange,
  answer: IncomingMessage,
  { headers, onEnd }: { readonly headers: readonly string[]; readonly onEnd: () => void },
): void {
  const { statusCode = 502 } = answer;
  const hasBody = head.method !== "HEAD" && statusCode !== 204 && statusCode !== 304;
  const isChunked = hasBody && valuesOfField(headers, "content-length").length === 0;
  const framing = isChunked ? ["transfer-encoding", "chunked"] : [];
  socket.write(headText(statusCode, [...headers, ...framing, "connection", "close"]));
  const sent = isChunked ? answer.pipe(chunks()) : answer;
  sent.once("end", onEnd);
  sent.pipe(socket, { end: false });
}

/** The chunked transfer coding (RFC 9112, section 7.1). */
function chunks(): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      this.push(`${chunk.length.toString(16)}\r\n`);
      this.push(chunk);
      done(null, "\r\n");
    },
    flush(done) {
      done(null, "0\r\n\r\n");
    },
  });
}

/** The head of an answer (RFC 9112, section 4). */
export function headText(status: number, headers: readonly string[]): Buffer {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`];
  for (let at = 0; at + 1 < headers.length; at += 2)
    lines.push(`${headers[at] ?? ""}: ${headers[at + 1] ?? ""}`);
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}
