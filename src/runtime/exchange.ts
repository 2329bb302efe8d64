import type { Duplex, Readable } from "node:stream";

/** Header names and values in turn, with names in lower case. */
export function withLowerNames(rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text));
}

/** The head of a request as the server read it. */
export interface ExchangeHead {
  readonly method: string;
  readonly target: string;
  /** Header names, in lower case, and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly httpVersion: "1.0" | "1.1" | "2";
  /** `:authority` of HTTP/2; undefined for HTTP/1.1. */
  readonly authority?: string | undefined;
  readonly isUpgrade: boolean;
  /** Whether an HTTP/2 request has no body; undefined for HTTP/1.1, whose headers say so. */
  readonly endsAfterHead?: boolean;
  /** IP address of the client. */
  readonly peerAddress: string;
}

/** A request and the way to answer it, the same for HTTP/1.1 and HTTP/2. */
export interface Exchange {
  readonly head: ExchangeHead;
  /** The body of the request as it arrives; reading at another pace holds the client back. */
  readonly body: Readable;
  /** Whether the client ended the request before its body was whole. */
  isBodyCut(): boolean;
  /**
   * Records that a credential of this user was accepted: then the connection counts as one of the
   * user's, and no longer as one of a client without a credential.
   */
  accepted(user: string): void;
  /** Answers `Expect: 100-continue`, if the client sent it; without it, does nothing. */
  acceptBody(): void;
  /**
   * Takes no request after this one from a connection of HTTP/1.1: two servers could see its begin
   * at two places. To be called before `respond`.
   */
  closeAfterResponse(): void;
  /** Sends the head of the answer; header names and values in turn. */
  respond(status: number, headers: readonly string[]): void;
  readonly hasResponded: boolean;
  /** Sends a part of the body; false if the client is slow: then `onDrain` says when to go on. */
  write(chunk: Uint8Array | string): boolean;
  /** Ends the answer. What is left of the request's body is not read. */
  end(): void;
  /** Ends the exchange so that the client cannot take the answer for whole. */
  abort(): void;
  /** Called whenever a client that was slow is ready for more. */
  onDrain(listener: () => void): void;
  /** Called once when the exchange is over, or at once if it is. */
  onClose(listener: () => void): void;
}

/** A request for another protocol on the same connection (RFC 9110, section 7.8). */
export interface UpgradeExchange {
  readonly head: ExchangeHead;
  readonly socket: UpgradeSocket;
  /** What followed the head; nothing of it is part of a request. */
  readonly received: Uint8Array;
  /** As of an {@link Exchange}. */
  accepted(user: string): void;
}

/** The connection of an upgrade: bytes without meaning. */
type UpgradeSocket = Duplex;
