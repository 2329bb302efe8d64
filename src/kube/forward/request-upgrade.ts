import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../runtime/clock.ts";
import { createTlsConnector } from "../client/tls-connector.ts";
import type { Credentials } from "../credentials/credentials.ts";
import {
  authorizationHeader,
  connectionFailure,
  type ForwardedRequest,
  type ForwardFailure,
  type Sending,
} from "./forwarder.ts";

/** A request for another protocol. */
type UpgradeRequest = Pick<ForwardedRequest, "method" | "target" | "headers" | "isProxied">;

/** Called with what became of it: exactly one of the three. */
export interface UpgradeHandler {
  /** The API server changed the protocol; `received` are the first bytes after its answer. */
  onUpgrade(answer: IncomingMessage, socket: Duplex, received: Uint8Array): void;
  /** It answered without changing it; the connection ends after the answer. */
  onAnswer(answer: IncomingMessage): void;
  onError(failure: ForwardFailure): void;
}

/** What the connection of an upgrade needs. */
interface UpgradeOptions {
  readonly credentials: Credentials;
  /** Milliseconds to the answer. */
  readonly headTimeoutMs: number;
  readonly clock: Clock;
}

/**
 * Sends a request for an upgrade over a connection of its own; once more, with a credential that is
 * read again, if the API server rejected the first one.
 */
export function requestUpgrade(
  request: UpgradeRequest,
  handler: UpgradeHandler,
  { credentials, headTimeoutMs, clock }: UpgradeOptions,
): Sending {
  let isDone = false;
  let mayRepeat = true;
  let sent: ClientRequest | undefined;
  const finish = (act: () => void): void => {
    if (isDone) return;
    isDone = true;
    cancelTimeout();
    act();
  };
  const fail = (failure: ForwardFailure): void => {
    finish(() => handler.onError(failure));
    sent?.destroy();
  };
  const cancelTimeout = clock.wakeAfter(headTimeoutMs, () => fail("timeout"));
  const onUnauthorized = (): void => {
    sent?.destroy();
    sent = undefined;
    if (!mayRepeat) return fail("unauthorized");
    mayRepeat = false;
    void send();
  };
  const send = async (): Promise<void> => {
    let authorization: string | undefined;
    try {
      authorization = await credentials.authorization();
    } catch {
      return fail("no-credential");
    }
    if (isDone) return;
    let socket: Socket;
    try {
      socket = await openConnection({ credentials, clock });
    } catch (error) {
      return fail(connectionFailure(error));
    }
    if (isDone) return void socket.destroy();
    const opened = openRequest(request, authorization, { credentials, socket });
    sent = opened;
    opened.on("upgrade", (answer, socket, received) =>
      finish(() => handler.onUpgrade(answer, socket, received)),
    );
    opened.on("response", (answer) => {
      if (answer.statusCode === 401) {
        credentials.forget();
        if (!request.isProxied) return onUnauthorized();
      }
      finish(() => handler.onAnswer(answer));
    });
    opened.on("error", () => {
      if (sent === opened) fail("unreachable");
    });
    opened.end();
  };
  void send();
  return {
    get isWaiting() {
      return !isDone && sent === undefined;
    },
    abort: () => fail("aborted"),
  };
}

/** A connection to the API server; rejects with the error of the socket or of the proxy. */
function openConnection({
  credentials: { server, tls, proxy },
  clock,
}: Pick<UpgradeOptions, "credentials" | "clock">): Promise<Socket> {
  const { protocol, host, hostname, port } = new URL(server);
  const connect = createTlsConnector({ tls, proxy, clock, keepAliveInitialDelay: 30_000 });
  const { promise, resolve: fulfil, reject } = Promise.withResolvers<Socket>();
  const target = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ""), port };
  connect(target, (error, socket) => (error === null ? fulfil(socket) : reject(error)));
  return promise;
}

function openRequest(
  { method, target, headers }: UpgradeRequest,
  authorization: string | undefined,
  { credentials, socket }: Pick<UpgradeOptions, "credentials"> & { readonly socket: Socket },
): ClientRequest {
  const { host, pathname } = new URL(credentials.server);
  return httpRequest({
    method,
    path: pathname.replace(/\/$/, "") + target,
    headers: ["host", host, ...authorizationHeader(authorization), ...headers],
    setHost: false,
    createConnection: () => socket,
  });
}
