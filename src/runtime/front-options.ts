import type { Clock } from "./clock.ts";
import { type ConnectionLimits, connectionLimits } from "./connection-pool.ts";
import type { Exchange, UpgradeExchange } from "./exchange.ts";
import type { ServerTls } from "./http-server.ts";

/** What a front server needs; port 0 is any free one. */
export interface FrontServerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: Pick<ServerTls, "certificate" | "privateKey">;
  readonly clock: Pick<Clock, "wakeAfter">;
  readonly limits?: Partial<FrontLimits>;
  /** Called for each connection that is closed for the sake of another one. */
  readonly onRefused?: (refused: "connection") => void;
  readonly onExchange: (exchange: Exchange) => void;
  readonly onUpgrade: (exchange: UpgradeExchange) => void;
  /** Which upgrades are answered as such; others are requests like any other. */
  readonly isUpgrade: (rawHeaders: readonly string[]) => boolean;
}

/** Milliseconds, bytes and counts that bound what a client that is slow or greedy can take. */
export interface FrontLimits {
  readonly handshakeMs: number;
  /** From the first byte of a head to its end. */
  readonly headMs: number;
  readonly headBytes: number;
  readonly fields: number;
  readonly idleMs: number;
  /** For an HTTP/2 session until its first request. */
  readonly firstStreamMs: number;
  readonly streams: number;
  /** PING and SETTINGS frames that an HTTP/2 client may send in `controlMs`. */
  readonly controlFrames: number;
  readonly controlMs: number;
  /** Requests that a client of HTTP/1.1 may send before the answer to an earlier one. */
  readonly pipelined: number;
  readonly connections: ConnectionLimits;
  /** Answers that were ended and that their clients have not read: how many, and for how long. */
  readonly unread: number;
  readonly unreadMs: number;
}

/** How long a client of HTTP/2 that knows of the end of its session may read, and keep it. */
export const lingerMs = 2_000;

/** The limits of a server. */
export const frontLimits: FrontLimits = {
  handshakeMs: 10_000,
  headMs: 10_000,
  headBytes: 32 * 1024,
  fields: 200,
  idleMs: 60_000,
  firstStreamMs: 30_000,
  streams: 250,
  controlFrames: 100,
  controlMs: 10_000,
  pipelined: 8,
  connections: connectionLimits,
  unread: 2_000,
  unreadMs: 60_000,
};
