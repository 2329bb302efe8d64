import { systemClock, type Timers } from "../../src/runtime/clock.ts";
import type { Exchange, UpgradeExchange } from "../../src/runtime/exchange.ts";
import { frontLimits, type ServerLimits } from "../../src/runtime/server-options.ts";
import { type Server, startServer } from "../../src/runtime/server.ts";
import { testCertificates } from "../support/gateway-fixture.ts";

/** What a test changes about a front server. */
export interface FrontFixtureOptions {
  readonly limits?: Partial<ServerLimits>;
  readonly clock?: Timers;
  readonly onExchange?: (exchange: Exchange) => void;
  readonly onUpgrade?: (exchange: UpgradeExchange) => void;
  readonly onRefused?: () => void;
}

/** A front server whose exchanges a test handles itself. */
export interface FrontFixture {
  readonly server: Server;
  readonly port: number;
  readonly ca: string;
  readonly exchanges: readonly Exchange[];
  readonly upgrades: readonly UpgradeExchange[];
  close(): Promise<void>;
}

/** Answers with 200 and a short text. */
export function answerOk(exchange: Exchange): void {
  exchange.respond(200, ["content-length", "3"]);
  exchange.write("ok\n");
  exchange.end();
}

/** Starts a front server that upgrades to WebSocket alone; by default, it answers everything. */
export async function startFront(options: FrontFixtureOptions = {}): Promise<FrontFixture> {
  const { limits = {}, clock = systemClock, onExchange = answerOk, onUpgrade = () => {} } = options;
  const { onRefused = () => {} } = options;
  const { ca, tls } = await testCertificates();
  const exchanges: Exchange[] = [];
  const upgrades: UpgradeExchange[] = [];
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    tls,
    clock,
    onRefused,
    limits: { ...frontLimits, ...limits },
    isUpgrade: (rawHeaders) => rawHeaders.includes("websocket"),
    onExchange(exchange) {
      exchanges.push(exchange);
      onExchange(exchange);
    },
    onUpgrade(exchange) {
      upgrades.push(exchange);
      onUpgrade(exchange);
    },
  });
  return {
    server,
    port: server.port,
    ca,
    exchanges,
    upgrades,
    close: () => server.close(0),
  };
}
