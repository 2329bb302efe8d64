import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Pool } from "undici";
import { isRecord, listAt } from "../../src/api/parse.ts";
import { splitLines } from "../../src/kube/informer/watch-stream.ts";
import { type ApiRequest, apiRequest } from "./api-request.ts";
import type { StartedControlPlane } from "./control-plane.ts";
import { listenLocally } from "./local-server.ts";
import { OpenWatch, type WatchLine } from "./open-watch.ts";
import {
  initialEventsEnd,
  isMethod,
  parseLine,
  passedHeaders,
  type ProxyAnswer,
  reply,
  streamOf,
  textOf,
} from "./proxy-messages.ts";
import { isListed, policyOf, type View } from "./visible-objects.ts";

/** The connection is closed, or stays open without data until the client times out. */
export type NoAnswer = "drop" | "swallow";

/**
 * How a test manipulates the traffic of one controller. By default, everything is forwarded
 * unchanged.
 */
export interface Steering {
  /** Handles a write (except of the Lease): returns the response, if any. */
  write?(request: ApiRequest, forward: () => Promise<ProxyAnswer>): Promise<ProxyAnswer | NoAnswer>;
  /** Handles a read of a single Secret with its data, like a write. */
  read?(request: ApiRequest, forward: () => Promise<ProxyAnswer>): Promise<ProxyAnswer | NoAnswer>;
  /** Whether the connection of a request of any kind is closed. */
  refuses?(request: ApiRequest): boolean;
  /** A response to a list instead of the API server's. */
  list?(request: ApiRequest): string | undefined;
  /** Handles an event; `deliver` may be called later, twice or never. */
  event?(watch: OpenWatch, line: WatchLine, deliver: () => void): void;
}

/** Events of a proxy. */
export interface ProxyEvents {
  /** There was any traffic. */
  onTraffic(): void;
  /** A write was requested, with any result. */
  onWrite(request: ApiRequest): void;
  /** The API server has responded to a write. */
  onCommit(request: ApiRequest, sent: string, answer: ProxyAnswer): void;
  /** A list was requested. */
  onList(request: ApiRequest): void;
  /** The API server has responded to a write of the Lease. */
  onLease?(sent: string, answer: ProxyAnswer): void;
}

/** The parts of a proxy; `upstream` is connected to the real API server. */
export interface ProxyOptions {
  readonly upstream: Pool;
  readonly view: View;
  readonly steering: Steering;
  readonly events: ProxyEvents;
}

/**
 * The connection of one controller to the real API server, over plain HTTP on the loopback
 * interface.
 */
export class FaultProxy {
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #watches = new Set<OpenWatch>();
  readonly #ended = new AbortController();
  #port = 0;
  #inFlight = 0;
  #renewing = 0;
  #swallowed = 0;
  #hold = Promise.withResolvers<void>();

  private constructor(options: ProxyOptions) {
    this.#options = options;
    this.#hold.resolve();
    this.#server = createServer(
      { keepAliveTimeout: 600_000 },
      (incoming, outgoing) => void this.#serve(incoming, outgoing),
    );
  }

  static async start(options: ProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options);
    proxy.#port = await listenLocally(proxy.#server);
    return proxy;
  }

  /** Starts it before an API server, as its administrator, without any view or events. */
  static async before(
    { url, certificateAuthority: ca }: Pick<StartedControlPlane, "url" | "certificateAuthority">,
    steering: Steering = {},
  ): Promise<FaultProxy> {
    const upstream = new Pool(url, {
      allowH2: true,
      keepAliveTimeout: 600_000,
      connections: 8,
      pipelining: 100,
      connect: { ca },
    });
    const events = { onTraffic() {}, onWrite() {}, onCommit() {}, onList() {} };
    const view = { prefix: "", system: "latchkey-system" };
    const proxy = await FaultProxy.start({ upstream, view, steering, events });
    proxy.#ended.signal.addEventListener("abort", () => void upstream.destroy());
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get watches(): readonly OpenWatch[] {
    return [...this.#watches];
  }

  /**
   * Requests that wait for a response; open watches and renewals of the Lease do not count, but
   * watches count until they are open.
   */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Renewals of the Lease that wait for a response. */
  get renewing(): number {
    return this.#renewing;
  }

  /** Requests that will never get a response. */
  get swallowed(): number {
    return this.#swallowed;
  }

  /** Holds all traffic in both directions until `release`. */
  hold(): void {
    this.#hold = Promise.withResolvers<void>();
  }

  release(): void {
    this.#hold.resolve();
  }

  /** Runs `work` while its request does not count as one that waits for the API server. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    this.#inFlight -= 1;
    try {
      return await work();
    } finally {
      this.#inFlight += 1;
    }
  }

  /** Closes every connection; data that has not been sent is discarded. */
  kill(): void {
    this.#ended.abort();
    this.#hold.resolve();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = apiRequest(incoming);
    const { events, steering } = this.#options;
    events.onTraffic();
    try {
      if (steering.refuses?.(request) === true) outgoing.destroy();
      else if (request.kind === "watch") await this.#watch(request, incoming, outgoing);
      else await this.#answer(request, incoming, outgoing);
    } catch {
      outgoing.destroy();
    }
    events.onTraffic();
  }

  async #answer(
    request: ApiRequest,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> {
    const isLease = request.kind === "lease";
    if (isLease) this.#renewing += 1;
    else this.#inFlight += 1;
    try {
      const sent = await textOf(incoming);
      const answer = await this.#decide(request, incoming, sent);
      await this.#open();
      if (answer === "drop") outgoing.destroy();
      else if (answer === "swallow") await this.#swallow(outgoing);
      else reply(outgoing, answer);
    } finally {
      if (isLease) this.#renewing -= 1;
      else this.#inFlight -= 1;
    }
  }

  async #swallow(outgoing: ServerResponse): Promise<void> {
    this.#swallowed += 1;
    await this.aside(() => new Promise<void>((resolve) => void outgoing.once("close", resolve)));
    this.#swallowed -= 1;
  }

  async #decide(
    request: ApiRequest,
    incoming: IncomingMessage,
    sent: string,
  ): Promise<ProxyAnswer | NoAnswer> {
    const { steering, events } = this.#options;
    const forward = () => this.#forward(request, incoming, sent);
    if (request.kind === "list") return this.#list(request, incoming);
    if (request.kind === "lease") return this.#lease(request, sent, forward);
    if (isReadOfData(request, incoming) && steering.read !== undefined)
      return steering.read(request, forward);
    if (request.kind !== "write") return this.#get(request, await forward());
    events.onWrite(request);
    const committed = async () => {
      const answer = await forward();
      events.onCommit(request, sent, answer);
      return answer;
    };
    return steering.write === undefined ? committed() : steering.write(request, committed);
  }

  #get({ plural }: ApiRequest, { text, ...answer }: ProxyAnswer): ProxyAnswer {
    const isPolicy = plural === "validatingadmissionpolicies";
    return { ...answer, text: isPolicy ? policyOf(this.#options.view, text) : text };
  }

  async #lease(
    request: ApiRequest,
    sent: string,
    forward: () => Promise<ProxyAnswer>,
  ): Promise<ProxyAnswer> {
    const answer = await forward();
    if (request.method !== "GET") this.#options.events.onLease?.(sent, answer);
    return answer;
  }

  async #list(request: ApiRequest, incoming: IncomingMessage): Promise<ProxyAnswer> {
    const { steering, events, view } = this.#options;
    events.onList(request);
    const stale = steering.list?.(request);
    const answer =
      stale !== undefined
        ? { status: 200, text: request.isStreamed ? streamOf(JSON.parse(stale)) : stale }
        : request.isStreamed
          ? await this.#forwardStream(request, incoming)
          : await this.#forward(request, incoming, "");
    if (answer.status !== 200) return answer;
    const isShown = (object: unknown): boolean => isListed(view, request, object);
    if (request.isStreamed)
      return {
        status: 200,
        text: answer.text
          .split("\n")
          .filter(
            (line) =>
              line !== "" &&
              (parseLine(line).type === "BOOKMARK" || isShown(parseLine(line).object)),
          )
          .map((line) => `${line}\n`)
          .join(""),
      };
    const list: unknown = JSON.parse(answer.text);
    return {
      status: 200,
      text: JSON.stringify({
        ...(isRecord(list) ? list : {}),
        items: listAt(list, "items").filter(isShown),
      }),
    };
  }

  /** A streaming list, up to its end. */
  async #forwardStream(request: ApiRequest, incoming: IncomingMessage): Promise<ProxyAnswer> {
    const over = new AbortController();
    const answer = await this.#head(request, incoming, over.signal);
    if (answer.statusCode !== 200)
      return { status: answer.statusCode, text: await answer.body.text() };
    const all: string[] = [];
    for await (const lines of splitLines(answer.body)) {
      all.push(...lines);
      if (lines.some((line) => line.includes(initialEventsEnd))) break;
    }
    over.abort();
    return { status: 200, text: all.join("\n") };
  }

  async #forward(
    request: ApiRequest,
    incoming: IncomingMessage,
    sent: string,
  ): Promise<ProxyAnswer> {
    await this.#open();
    const answer = await this.#options.upstream.request({
      method: isMethod(request.method) ? request.method : "GET",
      path: request.path,
      headers: passedHeaders(incoming),
      ...(sent === "" ? {} : { body: sent }),
    });
    const retryAfter = Number(answer.headers["retry-after"]);
    return {
      status: answer.statusCode,
      text: await answer.body.text(),
      ...(retryAfter > 0 ? { retryAfter } : {}),
    };
  }

  async #watch(
    request: ApiRequest,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> {
    const over = new AbortController();
    outgoing.on("close", () => over.abort());
    this.#inFlight += 1;
    const answer = await this.#head(request, incoming, over.signal).finally(
      () => (this.#inFlight -= 1),
    );
    if (answer.statusCode !== 200)
      return reply(outgoing, { status: answer.statusCode, text: await answer.body.text() });
    const watch = new OpenWatch(request, outgoing, this);
    this.#watches.add(watch);
    outgoing.writeHead(200, { "content-type": "application/json" });
    outgoing.flushHeaders();
    try {
      for await (const lines of splitLines(answer.body)) {
        await this.#open();
        for (const line of lines) this.#event(watch, parseLine(line));
      }
      outgoing.end();
    } finally {
      this.#watches.delete(watch);
    }
  }

  /** Opens a watch or a streaming list at the API server. */
  async #head(request: ApiRequest, incoming: IncomingMessage, signal: AbortSignal) {
    await this.#open();
    return this.#options.upstream.request({
      method: "GET",
      path: request.path,
      headers: passedHeaders(incoming),
      signal: AbortSignal.any([signal, this.#ended.signal]),
      bodyTimeout: 0,
    });
  }

  #event(watch: OpenWatch, line: WatchLine): void {
    const { steering, events, view } = this.#options;
    const isEvent = line.type !== "BOOKMARK" && line.type !== "ERROR";
    if (isEvent && !isListed(view, watch.request, line.object)) return;
    events.onTraffic();
    const deliver = () => watch.send(line);
    if (isEvent && steering.event !== undefined) steering.event(watch, line, deliver);
    else deliver();
  }

  async #open(): Promise<void> {
    await this.#hold.promise;
    this.#ended.signal.throwIfAborted();
  }
}

/** Whether a request is for a Secret with its data, and not for its metadata. */
function isReadOfData({ kind, plural }: ApiRequest, { headers }: IncomingMessage): boolean {
  const isOfMetadata = headers.accept?.includes("as=PartialObjectMetadata") === true;
  return kind === "get" && plural === "secrets" && !isOfMetadata;
}
