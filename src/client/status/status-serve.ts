import type { IncomingMessage, ServerResponse } from "node:http";
import { aborted, type Clock } from "../../runtime/clock.ts";
import { UsageError } from "../../runtime/config-values.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import { httpLimits, type ServerLimits } from "../../runtime/server-options.ts";
import { startServer } from "../../runtime/server.ts";
import { newPageToken } from "../../tokens/random-text.ts";
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
  readonly clock: Clock;
  /** Ends the server. */
  readonly signal: AbortSignal;
}

/** The only address that the page has: that of this machine for itself. */
const address = "127.0.0.1";

/** Limits for clients, which are programs on this machine. */
const limits: ServerLimits = {
  ...httpLimits,
  headMs: 5_000,
  requestMs: 5_000,
  idleMs: 5_000,
  checkMs: 1_000,
  headBytes: 8_192,
  connections: { all: 32, unauthenticated: 32, reserved: 32 },
};

/**
 * Serves the page and prints its URL, until the signal aborts. Rejects if the first report cannot
 * be read, or with a UsageError if the port is not free.
 */
export async function serveStatus(options: ServeOptions, deps: ServeDeps): Promise<void> {
  const view = sharedReading(await deps.source.first(), options, deps);
  const token = newPageToken();
  const hostOf = (port: number): string => `${address}:${port}`;
  const server = await startServer({
    host: address,
    port: options.port,
    clock: deps.clock,
    limits,
    onRequest(incoming, outgoing) {
      const host = hostOf(incoming.socket.localPort ?? 0);
      void answer(incoming, outgoing, { ...options, host, token, view });
    },
  }).catch((error: unknown) => {
    throw new UsageError(
      `--port: cannot listen on ${hostOf(options.port)}: ` +
        `${errorCode(error) ?? "unknown error"}; choose another port`,
    );
  });
  deps.terminal.print(`http://${hostOf(server.port)}/#${token}\n`);
  deps.terminal.say("the page has your rights; the URL opens it until you press Ctrl-C");
  await aborted(deps.signal);
  await server.close(0);
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
