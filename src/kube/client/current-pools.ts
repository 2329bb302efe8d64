import type { Pool } from "undici";
import type { Clock } from "../../runtime/clock.ts";
import type { Credentials } from "../credentials/credentials.ts";
import { createTlsConnector } from "./tls-connector.ts";

/** How a server is reached. */
type Way = Pick<Credentials, "server" | "tls" | "proxy">;

/** Where pools lead. */
interface PoolTarget {
  readonly origin: string;
  readonly connect: ReturnType<typeof createTlsConnector>;
}

/** Options of {@link CurrentPools}. */
interface CurrentPoolsOptions<Pools> {
  readonly credentials: Way;
  readonly clock: Clock;
  /** Idle time before the first TCP keepalive probe, in milliseconds; default: undici's. */
  readonly keepAliveInitialDelay?: number;
  readonly open: (target: PoolTarget) => Pools;
}

/** Pools with what they were opened for. */
interface OpenPools<Pools> {
  readonly way: Way;
  readonly host: string;
  /** The path prefix of the server. */
  readonly prefix: string;
  readonly pools: Pools;
}

/**
 * The pools to an API server. When its address, its certificates or the proxy have changed, others
 * take their place, and the former ones close once their requests are over: a connection keeps the
 * trust and the client certificate that it was opened with.
 */
export class CurrentPools<Pools extends Readonly<Record<string, Pool>>> {
  readonly #options: CurrentPoolsOptions<Pools>;
  readonly #former = new Set<Pool>();
  #current: OpenPools<Pools>;

  constructor(options: CurrentPoolsOptions<Pools>) {
    this.#options = options;
    this.#current = this.#open();
  }

  /** Those of now, after `authorization` of the credentials. */
  current(): OpenPools<Pools> {
    const { server, tls, proxy } = this.#options.credentials;
    const former = this.#current;
    const { way } = former;
    if (server === way.server && tls === way.tls && proxy === way.proxy) return former;
    this.#current = this.#open();
    for (const pool of Object.values(former.pools)) this.#retire(pool);
    return this.#current;
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    const all = [...Object.values(this.#current.pools), ...this.#former];
    await Promise.all(all.map((pool) => pool.destroy()));
  }

  #open(): OpenPools<Pools> {
    const { credentials, open, ...connecting } = this.#options;
    const { server, tls, proxy } = credentials;
    const way = { server, tls, proxy };
    const { origin, host, pathname } = new URL(server);
    const connect = createTlsConnector({ ...connecting, tls, proxy });
    return { way, host, prefix: pathname.replace(/\/$/, ""), pools: open({ origin, connect }) };
  }

  #retire(pool: Pool): void {
    this.#former.add(pool);
    void pool.close().then(() => this.#former.delete(pool));
  }
}
