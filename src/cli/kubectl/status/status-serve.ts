import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { aborted, type PassiveClock } from "../../../runtime/clock.ts";
import { UsageError } from "../../../runtime/config-values.ts";
import { errorCode } from "../../../runtime/read-text-file.ts";
import { newPageToken } from "../../../tokens/random-text.ts";
import { answerPage, type PageDeps } from "./status-page.ts";
import { pauseAfter, type StatusSource, type StatusView } from "./status-source.ts";
import type { Terminal } from "../terminal.ts";

/** What is served; port 0 is any free port. */
export interface ServeOptions {
  readonly port: number;
  readonly intervalMs: number;
  /** What the reports are about. */
  readonly title: string;
}

/** Dependencies of {@link serveStatus}. */
export interface ServeDeps {
  readonly source: Pick<StatusSource, "first" | "next" | "tookMs">;
  readonly terminal: Pick<Terminal, "print" | "say">;
  readonly clock: PassiveClock;
  /** Ends the server. */
  readonly signal: AbortSignal;
}

/** The only address that the page has: that of this machine for itself. */
const address = "127.0.0.1";

/** Limits for clients, which are programs on this machine. */
const limits = {
  maxHeaderSize: 8_192,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
} as const;
const mostConnections = 32;

/**
 * Serves the page and prints its URL, until the signal aborts. Rejects if the first report cannot
 * be read, or with a UsageError if the port is not free.
 */
export async function serveStatus(options: ServeOptions, deps: ServeDeps): Promise<void> {
  const view = sharedReading(await deps.source.first(), options, deps);
  const token = newPageToken();
  const server = createServer(limits);
  server.maxConnections = mostConnections;
  const port = await listening(server, options.port);
  const host = `${address}:${port}`;
  const page: PageDeps = { ...options, host, token, view };
  server.on("request", (incoming, outgoing) => void answer(incoming, outgoing, page));
  server.on("clientError", (_error, socket) => socket.destroy());
  deps.terminal.print(`http://${host}/#${token}\n`);
  deps.terminal.say("the page has your rights; the URL opens it until you press Ctrl-C");
  await aborted(deps.signal);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/**
 * Returns a function that reads a report. Pages that ask at the same time, or soon again, get the
 * same one: the API server has no more work with many pages than with one.
 */
function sharedReading(
  first: StatusView,
  { intervalMs }: ServeOptions,
  { source, clock }: ServeDeps,
): () => Promise<StatusView> {
  let reading = Promise.resolve(first);
  let isPending = false;
  let endedAt = clock.monotonic();
  return () => {
    const age = clock.monotonic() - endedAt;
    if (isPending || age < pauseAfter(source.tookMs, intervalMs) / 2) return reading;
    isPending = true;
    reading = source.next().finally(() => {
      isPending = false;
      endedAt = clock.monotonic();
    });
    return reading;
  };
}

function listening(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) =>
      reject(
        new UsageError(
          `--port: cannot listen on ${address}:${port}: ` +
            `${errorCode(error) ?? "unknown error"}; choose another port`,
        ),
      ),
    );
    server.listen({ host: address, port }, () => {
      const bound = server.address();
      resolve(typeof bound === "object" && bound !== null ? bound.port : port);
    });
  });
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  page: PageDeps,
): Promise<void> {
  const { method = "", url: target = "", headers, rawHeaders } = incoming;
  // No request of the page has a body, so its connection ends.
  const hasBody = "content-length" in headers || "transfer-encoding" in headers;
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");
  outgoing.on("error", () => {});
  try {
    const request = { method, target, headers: hosts.length === 1 ? headers : {} };
    const response = await answerPage(request, page);
    outgoing.writeHead(response.status, {
      ...response.headers,
      "content-length": Buffer.byteLength(response.body),
      ...(hasBody ? { connection: "close" } : {}),
    });
    outgoing.end(response.body);
  } catch {
    outgoing.destroy();
  }
}
