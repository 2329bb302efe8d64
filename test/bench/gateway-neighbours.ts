import { performance } from "node:perf_hooks";
import { latencyRow, type Row } from "./report.ts";
import { percentile } from "../support/percentile.ts";
import type { BenchFixture, RunningServer } from "./bench-fixture.ts";
import { getThrough, makeAdminKey, type OpenWays, openWays, type Way } from "./gateway-ways.ts";

const politeUsers = 8;
/** Requests in progress beside those of the honest user: fewer than a key may have. */
const load = 128;

/** What is measured: how many requests, and what the load asks for. */
export interface NeighbourTerms {
  readonly requests: number;
  readonly object: string;
  readonly list: string;
}

/**
 * The latency of a user who sends one request after the other, beside nobody, beside polite users
 * with as many requests in progress as one greedy user, and beside that one.
 */
export async function neighbourRows(
  fixture: BenchFixture,
  server: RunningServer,
  { requests, object, list }: NeighbourTerms,
): Promise<readonly Row[]> {
  const userWays = async (name: string): Promise<OpenWays> =>
    openWays(fixture, server, await makeAdminKey(fixture, name));
  const honest = await userWays("neighbour-honest");
  const greedy = await userWays("neighbour-greedy");
  const polite: OpenWays[] = [];
  for (let user = 0; user < politeUsers; user += 1)
    polite.push(await userWays(`neighbour-${user}`));
  const latencies = () => latenciesOf(honest.http2, object, requests);
  const beside = async (users: readonly OpenWays[]): Promise<readonly number[]> => {
    const stop = new AbortController();
    const clients = users.flatMap((ways) =>
      Array.from({ length: load / users.length }, async () => {
        while (!stop.signal.aborted) await getThrough(ways.http2, list);
      }),
    );
    const taken = await latencies();
    stop.abort();
    await Promise.all(clients);
    return taken;
  };
  await latencies();
  const alone = await latencies();
  const besidePolite = await beside(polite);
  const besideGreedy = await beside([greedy]);
  await Promise.all([honest, greedy, ...polite].map((ways) => ways.close()));
  const ceiling = percentile(besidePolite, 0.99);
  return [
    latencyRow("GET 1 KB of a user alone", alone),
    latencyRow(`the same beside ${politeUsers} users, ${load} lists at a time`, besidePolite),
    latencyRow(`the same beside one user, ${load} lists at a time`, besideGreedy, {
      ceiling,
      note: `p50 beside the others ${percentile(besidePolite, 0.5).toFixed(1)} ms`,
    }),
  ];
}

/** The milliseconds of requests that are sent one after the other. */
export async function latenciesOf(
  way: Way,
  path: string,
  requests: number,
): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let count = 0; count < requests; count += 1) {
    const began = performance.now();
    await getThrough(way, path);
    taken.push(performance.now() - began);
  }
  return taken;
}
