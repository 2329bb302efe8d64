import { performance } from "node:perf_hooks";
import { median, percentile } from "../support/percentile.ts";
import type { RunningGateway } from "./bench-fixture.ts";
import type { Way, Ways } from "./gateway-ways.ts";
import type { Row, Usage } from "./report.ts";

const rounds = 3;
const shareOfDirect = 0.8;

/** What a series of requests took. */
interface Series {
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
  { readings }: Pick<RunningGateway, "readings">,
  { name, path, requests, concurrency }: Requests,
): Promise<readonly Row[]> {
  const terms = { path, requests: Math.ceil(requests / rounds), concurrency };
  const series: Record<keyof Ways, Series[]> = { direct: [], http1: [], http2: [] };
  const usages: Record<"http1" | "http2", Usage[]> = { http1: [], http2: [] };
  for (const way of ["direct", "http1", "http2"] as const)
    await measured(ways[way], { ...terms, requests: 50 });
  for (let round = 0; round < rounds; round += 1) {
    series.direct.push(await measured(ways.direct, terms));
    for (const way of ["http1", "http2"] as const) {
      const end = await readings.begin();
      series[way].push(await measured(ways[way], terms));
      usages[way].push(await end());
    }
  }
  const rateOf = (way: keyof Ways): number => median(series[way].map(({ rate }) => rate));
  const latency = (way: keyof Ways, p: number): number =>
    percentile(
      series[way].flatMap(({ latencies }) => latencies),
      p,
    );
  return (["http1", "http2"] as const).map((way) => {
    const cpu = usages[way].reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
    const micros = (cpu / (rounds * terms.requests)) * 1e6;
    const added = [0.5, 0.99].map((p) => latency(way, p) - latency("direct", p));
    const [p50 = 0, p99 = 0] = added;
    const isGoal = concurrency === 16 && name === "GET 1 KB";
    return {
      name: `${name}, ${concurrency} at a time, ${way === "http1" ? "HTTP/1.1" : "HTTP/2"}`,
      measured: rateOf(way),
      ceiling: rateOf("direct"),
      unit: "/s",
      ...(isGoal
        ? {
            wanted: `>= ${shareOfDirect} of direct`,
            met: rateOf(way) >= shareOfDirect * rateOf("direct"),
          }
        : {}),
      note: `added p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms; ${micros.toFixed(0)} us of the gateway`,
    };
  });
}

async function measured(
  { pool, prefix, authorization }: Way,
  { path, requests, concurrency }: Omit<Requests, "name">,
): Promise<Series> {
  const latencies: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let index = next++; index < requests; index = next++) {
      const began = performance.now();
      const { statusCode, body } = await pool.request({
        method: "GET",
        path: prefix + path,
        headers: { authorization },
      });
      await body.dump({ limit: Number.MAX_SAFE_INTEGER });
      if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode}`);
      latencies.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: concurrency }, client));
  return { rate: (requests * 1000) / (performance.now() - began), latencies };
}
