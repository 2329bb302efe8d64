import { type Dispatcher, Pool } from "undici";
import { InformationalResponses } from "../client/exchange.ts";
import type { Credentials } from "../credentials/credentials.ts";
import { CurrentPools } from "../client/current-pools.ts";
import { ProxyError } from "../client/proxy-tunnel.ts";
import type { Cancel, Clock } from "../../runtime/clock.ts";
import { withLowerNames } from "../../runtime/exchange.ts";
import { FairShares, type Share, type Sharer } from "../../runtime/fair-shares.ts";

/** A request that is forwarded. */
export interface ForwardedRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query as they are sent. */
  readonly target: string;
  /** Names and values in turn, without `host` and `authorization`. */
  readonly headers: readonly string[];
  /**
   * Whether a backend behind the API server may answer. Nothing tells its 401 from one about the
   * credential that the request was sent with, so it is an answer, and the request is sent once.
   */
  readonly isProxied: boolean;
  /** Undefined if the request has none; one that was read as a whole can be sent twice. */
  readonly body: Buffer | AsyncIterable<Uint8Array> | undefined;
  /** A stream may be silent for as long as it likes, and takes no place of other requests. */
  readonly kind: "answer" | "stream";
  /** Whose turn it takes. */
  readonly sharer: Sharer;
}

/**
 * Why there is no answer, or only a part of it: `busy` if no connection became free, `proxy` if the
 * proxy on the way let none through, and `unauthorized` if the API server rejected the credential
 * that the request was sent with.
 */
export type ForwardFailure =
  | "timeout"
  | "unreachable"
  | "proxy"
  | "aborted"
  | "busy"
  | "no-credential"
  | "unauthorized";

/** Called with the answer as it arrives; header names and values in turn. */
export interface ForwardHandler {
  onHead(status: number, rawHeaders: readonly string[]): void;
  /** False to pause until {@link Forwarding.resume}. */
  onData(chunk: Uint8Array): boolean;
  onEnd(): void;
  onError(failure: ForwardFailure): void;
}

/** A request under way. */
export interface Sending {
  /** Whether nothing of it was sent yet. */
  readonly isWaiting: boolean;
  /** Ends it; `onError` is called with `aborted`. */
  abort(): void;
}

/** A request under way, whose answer may be paused. */
export interface Forwarding extends Sending {
  resume(): void;
}

/** What a forwarder is made of. */
export interface ForwarderOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Milliseconds to the head of an answer. */
  readonly headTimeoutMs: number;
  /** Connections for answers, which users share; those of streams are not bounded here. */
  readonly connections: number;
  /** Milliseconds between two parts of an answer that is not a stream; default: 75 seconds. */
  readonly silenceMs?: number;
}

/** Forwards requests to an API server over HTTP/1.1, byte for byte. */
export interface Forwarder {
  forward(request: ForwardedRequest, handler: ForwardHandler): Forwarding;
  /** How many requests wait for a connection. */
  waiting(): number;
  close(): Promise<void>;
}

/** Shorter than an API server keeps an idle connection. */
const idleConnectionMs = 5_000;
const longestSilenceMs = 75_000;
/**
 * Longest time that a request, or its body, waits for its share, in milliseconds: no request has
 * one for longer without an answer.
 */
export const longestWaitMs = 75_000;

/** A forwarder to the API server of these credentials. */
export function createForwarder(options: ForwarderOptions): Forwarder {
  const { credentials, clock, connections, headTimeoutMs, silenceMs = longestSilenceMs } = options;
  const server = new CurrentPools({
    credentials,
    clock,
    keepAliveInitialDelay: 30_000,
    open({ origin, connect }) {
      const shared = {
        pipelining: 1,
        keepAliveTimeout: idleConnectionMs,
        headersTimeout: headTimeoutMs,
        connect,
      };
      return {
        answer: new Pool(origin, { ...shared, connections, bodyTimeout: silenceMs }),
        stream: new Pool(origin, { ...shared, connections: null, bodyTimeout: 0 }),
      };
    },
  });
  const shares = new FairShares({ all: connections });
  return {
    forward(request, handler) {
      const { kind, sharer } = request;
      const share = kind === "stream" ? unshared : shares.ask(sharer, 1);
      const connection = { server, share, credentials, clock, headTimeoutMs };
      const attempt = new Attempt(request, handler, connection);
      attempt.start();
      return attempt;
    },
    waiting: () => shares.waiting,
    close: () => server.close(),
  };
}

/** The share of a stream, which has a connection of its own. */
const unshared: Share = { isWaiting: false, enter: (start) => start(), giveUpAfter() {}, end() {} };

/** What undici does, and its types do not say: it sends iterables like streams. */
interface IterableDispatcher {
  dispatch(
    options: Omit<Dispatcher.DispatchOptions, "body"> & {
      readonly body?:
        | NonNullable<Dispatcher.DispatchOptions["body"]>
        | AsyncIterable<Uint8Array>
        | null;
    },
    handler: Dispatcher.DispatchHandler,
  ): boolean;
}

/** The connections of a request, and its share of them. */
interface SharedConnection {
  readonly server: CurrentPools<Readonly<Record<ForwardedRequest["kind"], Pool>>>;
  readonly share: Share;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly headTimeoutMs: number;
}

/**
 * One request. It is sent once more if it has no effect yet and can be repeated: over another
 * connection if it reads, has no body and the connection ended before the first byte of an answer,
 * as an idle one may; and with a credential that is read again if the API server rejected the first
 * one and the body has not passed.
 */
class Attempt implements Forwarding, Dispatcher.DispatchHandler {
  readonly #connection: SharedConnection;
  readonly #request: ForwardedRequest;
  readonly #handler: ForwardHandler;
  readonly #mayRepeat: { unreachable: boolean; unauthorized: boolean };
  #controller: Dispatcher.DispatchController | undefined;
  /** Why it was broken off on this side. */
  #failure: "aborted" | "timeout" | "unauthorized" | undefined;
  #isWaiting = true;
  #isOver = false;
  #hasHead = false;
  readonly #informational = new InformationalResponses();
  #stopHeadClock: Cancel | undefined;

  constructor(request: ForwardedRequest, handler: ForwardHandler, connection: SharedConnection) {
    [this.#connection, this.#request, this.#handler] = [connection, request, handler];
    const { method, body } = request;
    this.#mayRepeat = {
      unreachable: body === undefined && (method === "GET" || method === "HEAD"),
      unauthorized: body === undefined || Buffer.isBuffer(body),
    };
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  start(): void {
    const { share, clock } = this.#connection;
    share.enter(() => {
      if (!this.#isOver) void this.#send();
    });
    if (share.isWaiting) share.giveUpAfter(longestWaitMs, clock, () => this.#giveUp("busy"));
  }

  async #send(): Promise<void> {
    const { server, credentials } = this.#connection;
    const { method, target, headers, body, kind } = this.#request;
    let authorization: string | undefined;
    try {
      authorization = await credentials.authorization();
    } catch {
      return this.#giveUp("no-credential");
    }
    if (this.#isOver) return;
    this.#isWaiting = false;
    const { pools, prefix } = server.current();
    const pool: IterableDispatcher = pools[kind];
    pool.dispatch(
      {
        method,
        path: prefix + target,
        body: body ?? null,
        reset: false,
        headers: [...authorizationHeader(authorization), ...headers],
      },
      this,
    );
  }

  resume(): void {
    this.#controller?.resume();
  }

  abort(): void {
    if (this.#isOver || this.#failure === "aborted") return;
    this.#failure = "aborted";
    if (this.#isWaiting) this.#giveUp("aborted");
    else this.#controller?.abort(new Error("aborted"));
  }

  #giveUp(failure: ForwardFailure): void {
    if (this.#isOver) return;
    this.#end();
    this.#handler.onError(failure);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure === "aborted") controller.abort(new Error("aborted"));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    // Interim answers end here (RFC 9110, section 15.2).
    if (status < 200) return this.#waitForHead(controller);
    this.#stopHeadClock?.();
    this.#stopHeadClock = undefined;
    if (status === 401) {
      this.#connection.credentials.forget();
      if (!this.#request.isProxied) return this.#breakOff("unauthorized", controller);
    }
    this.#hasHead = true;
    this.#handler.onHead(status, textsOf(controller.rawHeaders));
  }

  /** An interim answer begins undici's own time for a head anew; many of them have it once. */
  #waitForHead(controller: Dispatcher.DispatchController): void {
    const failure = this.#informational.next();
    if (failure !== undefined) controller.abort(failure);
    const { clock, headTimeoutMs } = this.#connection;
    this.#stopHeadClock ??= clock.wakeAfter(headTimeoutMs, () =>
      this.#breakOff("timeout", controller),
    );
  }

  #breakOff(failure: "timeout" | "unauthorized", controller: Dispatcher.DispatchController): void {
    this.#failure = failure;
    controller.abort(new Error(failure));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#handler.onData(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#end();
    this.#handler.onEnd();
  }

  onResponseError(_controller: unknown, error: Error): void {
    const code = "code" in error ? String(error.code) : "";
    const isTimeout = code.endsWith("_TIMEOUT");
    const failure = this.#failure ?? (isTimeout ? "timeout" : connectionFailure(error));
    const isRepeated =
      (failure === "unauthorized" || failure === "unreachable") &&
      !this.#hasHead &&
      this.#mayRepeat[failure];
    if (!isRepeated) return this.#giveUp(failure);
    this.#mayRepeat[failure] = false;
    this.#failure = undefined;
    this.#isWaiting = true;
    void this.#send();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopHeadClock?.();
    this.#connection.share.end();
  }
}

/** Why a connection failed. */
export function connectionFailure(error: unknown): "proxy" | "unreachable" {
  return error instanceof ProxyError ? "proxy" : "unreachable";
}

/** The header of a credential, name and value in turn; none for a client certificate. */
export function authorizationHeader(authorization: string | undefined): readonly string[] {
  return authorization === undefined ? [] : ["authorization", authorization];
}

/** undici gives names and values in turn, as bytes. */
function textsOf(raw: Dispatcher.DispatchController["rawHeaders"]): readonly string[] {
  return Array.isArray(raw) ? withLowerNames(raw.map((part) => part.toString("latin1"))) : [];
}
