/*
 * A reverse proxy of node's servers and undici with nothing of Latchkey in it: what any gateway in
 * Node.js costs. Reads its configuration as a line of JSON, answers with its ports, and serves until
 * its standard input ends.
 */
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import { createServer } from "node:https";
import { createInterface } from "node:readline";
import { Pool } from "undici";
import { stringAt } from "../../src/api/parse.ts";
import { listenLocally } from "../support/local-server.ts";

createInterface({ input: process.stdin })
  .once("line", (line) => void serve(line))
  .once("close", () => process.exit());

/** Names of one connection, which a proxy does not pass on. */
const ofConnection = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade", "host"]);

async function serve(line: string): Promise<void> {
  const given: unknown = JSON.parse(line);
  const at = (name: string): string => stringAt(given, name) ?? "";
  const pool = new Pool(at("Upstream"), { connections: 64, connect: { ca: at("Authority") } });
  const keyPair = { cert: at("Certificate"), key: at("PrivateKey") };
  const headersOf = (raw: readonly string[]): string[] => {
    const headers = ["authorization", at("Authorization")];
    for (let index = 0; index + 1 < raw.length; index += 2) {
      const name = (raw[index] ?? "").toLowerCase();
      if (name !== "authorization" && !name.startsWith(":") && !ofConnection.has(name))
        headers.push(name, raw[index + 1] ?? "");
    }
    return headers;
  };
  const http1 = createServer(keyPair, (incoming, outgoing) => {
    forward(pool, incoming.url ?? "", headersOf(incoming.rawHeaders), {
      head: (status, headers) => void outgoing.writeHead(status, headers),
      write: (chunk) => outgoing.write(chunk),
      end: () => void outgoing.end(),
      onDrain: (listener) => void outgoing.on("drain", listener),
    });
  });
  const http2 = createSecureServer(keyPair);
  const onStream = (stream: ServerHttp2Stream, rawHeaders: readonly string[]): void => {
    const path = rawHeaders[rawHeaders.indexOf(":path") + 1] ?? "";
    stream.resume();
    forward(pool, path, headersOf(rawHeaders), {
      head: (status, headers) => stream.respond([":status", String(status), ...headers]),
      write: (chunk) => stream.write(chunk),
      end: () => void stream.end(),
      onDrain: (listener) => void stream.on("drain", listener),
    });
  };
  http2.on("session", (session) =>
    session.on("stream", (stream: ServerHttp2Stream, _headers, _flags, rawHeaders) =>
      onStream(stream, rawHeaders),
    ),
  );
  const ports = { http1: await listenLocally(http1), http2: await listenLocally(http2) };
  process.stdout.write(`${JSON.stringify(ports)}\n`);
}

/** How an answer reaches the client. */
interface Answer {
  readonly head: (status: number, headers: string[]) => void;
  readonly write: (chunk: Buffer) => boolean;
  readonly end: () => void;
  readonly onDrain: (listener: () => void) => void;
}

function forward(pool: Pool, path: string, headers: string[], answer: Answer): void {
  pool.dispatch(
    { method: "GET", path, headers },
    {
      onRequestStart() {},
      onResponseStart(controller, status) {
        answer.onDrain(() => controller.resume());
        const raw = Array.isArray(controller.rawHeaders) ? controller.rawHeaders : [];
        const texts = raw.map((part) => part.toString("latin1"));
        const kept: string[] = [];
        for (let index = 0; index + 1 < texts.length; index += 2) {
          const name = (texts[index] ?? "").toLowerCase();
          if (!ofConnection.has(name)) kept.push(name, texts[index + 1] ?? "");
        }
        answer.head(status, kept);
      },
      onResponseData(controller, chunk) {
        if (!answer.write(chunk)) controller.pause();
      },
      onResponseEnd: () => answer.end(),
      onResponseError(_controller, error) {
        throw error;
      },
    },
  );
}
