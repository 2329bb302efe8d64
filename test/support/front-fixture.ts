import { type Clock, systemClock } from "../../src/runtime/clock.ts";
import type { Exchange, UpgradeExchange } from "../../src/runtime/exchange.ts";
import type { FrontLimits } from "../../src/runtime/front-options.ts";
import { type FrontServer, startFrontServer } from "../../src/runtime/front-server.ts";
import { testCertificates } from "./gateway-fixture.ts";

/** What a test changes about a front server. */
export interface FrontFixtureOptions {
  readonly limits?: Partial<FrontLimits>;
  readonly clock?: Pick<Clock, "wakeAfter">;
  readonly onExchange?: (exchange: Exchange) => void;
  readonly onUpgrade?: (exchange: UpgradeExchange) => void;
  readonly onRefused?: () => void;
}

/** A front server whose exchanges a test handles itself. */
export interface FrontFixture {
  readonly server: FrontServer;
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
  const server = await startFrontServer({
    ...{ host: "127.0.0.1", port: 0, tls, clock, limits, onRefused },
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
    ...{ server, port: server.port, ca, exchanges, upgrades },
    close: () => server.drain(0),
  };
}
