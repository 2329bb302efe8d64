import { performance } from "node:perf_hooks";
import { inTurns } from "../support/measured-run.ts";
import { median, percentile } from "../support/percentile.ts";
import type { RunningServer } from "./bench-fixture.ts";
import { getThrough, type Way, type Ways } from "./gateway-ways.ts";
import { type Row, row } from "./report.ts";

const rounds = 3;

/** What a series of requests took. */
export interface Series {
  /** Requests a second. */
  readonly rate: number;
  readonly latencies: readonly number[];
}

/** A series of requests. */
export interface Requests {
  readonly name: string;
  readonly path: string;
  readonly requests: number;
  readonly concurrency: number;
}

/** Requests through the gateway beside the same requests to the API server, in alternation. */
export async function requestRows(
  ways: Ways,
  { readings }: Pick<RunningServer, "readings">,
  { name, path, requests, concurrency }: Requests,
): Promise<readonly Row[]> {
  const terms = { path, requests: Math.ceil(requests / rounds), concurrency };
  for (const way of ["direct", "http1", "http2"] as const)
    await series(ways[way], { ...terms, requests: 50 });
  const spent = { http1: 0, http2: 0 };
  const through = async (way: "http1" | "http2"): Promise<Series> => {
    const end = await readings.begin();
    const one = await series(ways[way], terms);
    spent[way] += (await end()).cpuSeconds;
    return one;
  };
  const found = await inTurns(rounds, {
    direct: () => series(ways.direct, terms),
    http1: () => through("http1"),
    http2: () => through("http2"),
  });
  const rateOf = (way: keyof Ways): number => median(found[way].map(({ rate }) => rate));
  const latency = (way: keyof Ways, p: number): number =>
    percentile(
      found[way].flatMap(({ latencies }) => latencies),
      p,
    );
  return (["http1", "http2"] as const).map((way) => {
    const micros = (spent[way] / (rounds * terms.requests)) * 1e6;
    const added = (p: number): string => (latency(way, p) - latency("direct", p)).toFixed(2);
    const version = way === "http1" ? "HTTP/1.1" : "HTTP/2";
    return row(`${name}, ${concurrency} at a time, ${version}`, [rateOf(way), "/s"], {
      ceiling: rateOf("direct"),
      ratioGoal: concurrency === 16 && name === "GET 1 KB" ? ">= 0.8 of direct" : undefined,
      note: `added p50 ${added(0.5)} ms, p99 ${added(0.99)} ms; ${micros.toFixed(0)} us of the gateway`,
    });
  });
}

/** Sends requests, as many at a time as wanted. */
export async function series(
  way: Way,
  { path, requests, concurrency }: Omit<Requests, "name">,
): Promise<Series> {
  const latencies: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let index = next++; index < requests; index = next++) {
      const began = performance.now();
      await getThrough(way, path);
      latencies.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: concurrency }, client));
  return { rate: (requests * 1000) / (performance.now() - began), latencies };
}
