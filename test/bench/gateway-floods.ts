import { setTimeout } from "node:timers/promises";
import { Pool } from "undici";
import { percentile } from "../support/percentile.ts";
import type { BenchFixture, RunningServer } from "./bench-fixture.ts";
import { latenciesOf } from "./gateway-neighbours.ts";
import { makeAdminKey, openWays } from "./gateway-ways.ts";
import { heads } from "./heads.ts";
import { latencyRow, type Row } from "./report.ts";

/** Connections without a credential, and the pause of each between two heads. */
const flood = { connections: 60, pauseMs: 200 };

/** What is measured beside them: how many requests for which object. */
interface FloodTerms {
  readonly requests: number;
  readonly object: string;
}

/** The latency of a user alone, and beside connections that send the heads that cost the most. */
export async function floodRow(
  fixture: BenchFixture,
  server: RunningServer,
  { requests, object }: FloodTerms,
): Promise<Row> {
  const ways = await openWays(fixture, server, await makeAdminKey(fixture, "flood-honest"));
  const latencies = () => latenciesOf(ways.http2, object, requests);
  await latencies();
  const alone = await latencies();
  const { origin, ca } = ways.http1;
  const pool = new Pool(origin, { connections: flood.connections, connect: { ca } });
  const targets = Object.values(heads).flatMap(({ target }) => target ?? []);
  const stop = new AbortController();
  let sent = 0;
  const clients = Array.from({ length: flood.connections }, async () => {
    while (!stop.signal.aborted) {
      const path = targets[sent++ % targets.length] ?? "/";
      const { statusCode, body } = await pool.request({ method: "GET", path });
      await body.dump();
      if (statusCode !== 401) throw new Error(`a head without a credential: ${statusCode}`);
      await setTimeout(flood.pauseMs);
    }
  });
  const beside = await latencies();
  stop.abort();
  await Promise.all(clients);
  await Promise.all([pool.destroy(), ways.close()]);
  return latencyRow(
    `GET 1 KB beside ${flood.connections} connections with the worst heads`,
    beside,
    {
      ceiling: percentile(alone, 0.99),
      ratioGoal: "<= 3",
      note: `${sent} heads`,
    },
  );
}
