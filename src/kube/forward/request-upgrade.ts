import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import type { Clock } from "../../runtime/clock.ts";
import type { ServerAddress } from "../credentials/credentials.ts";
import type { ForwardFailure } from "./forwarder.ts";

/** A request for another protocol; header names and values in turn. */
interface UpgradeRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
}

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
  readonly credentials: ServerAddress;
  /** Milliseconds to the answer. */
  readonly headTimeoutMs: number;
  readonly clock: Clock;
}

/**
 * Sends a request for an upgrade over a connection of its own, and returns what ends it.
 */
export function requestUpgrade(
  { method, target, headers }: UpgradeRequest,
  handler: UpgradeHandler,
  { credentials, headTimeoutMs, clock }: UpgradeOptions,
): () => void {
  const origin = new URL(credentials.server);
  const options = {
    agent: false,
    host: origin.hostname.replace(/^\[|\]$/g, ""),
    port: origin.port,
    method,
    path: origin.pathname.replace(/\/$/, "") + target,
    headers: [...headers],
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    setHost: false,
  };
  const request: ClientRequest =
    origin.protocol === "https:"
      ? httpsRequest({ ...options, ...credentials.tls })
      : httpRequest(options);
  let isDone = false;
  const finish = (act: () => void): void => {
    if (isDone) return;
    isDone = true;
    cancelTimeout();
    act();
  };
  const cancelTimeout = clock.wakeAfter(headTimeoutMs, () => {
    finish(() => handler.onError("timeout"));
    request.destroy();
  });
  request.on("upgrade", (answer, socket, received) =>
    finish(() => handler.onUpgrade(answer, socket, received)),
  );
  request.on("response", (answer) => finish(() => handler.onAnswer(answer)));
  request.on("error", () => finish(() => handler.onError("unreachable")));
  request.end();
  return () => {
    finish(() => handler.onError("aborted"));
    request.destroy();
  };
}
