import { performance } from "node:perf_hooks";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { ownPath, parsed, tokenRequest } from "../support/bench-objects.ts";
import { inTurns } from "../support/measured-run.ts";
import { percentile } from "../support/percentile.ts";
import type { RunningServer } from "./bench-fixture.ts";
import { getThrough, type Way, type Ways } from "./gateway-ways.ts";
import { latencyRow, type Row, row } from "./report.ts";

/** Unknown keys, more at a time than the gateway lets wait. */
export async function garbageRow(
  { http2 }: Ways,
  { readings }: Pick<RunningServer, "readings">,
  requests: number,
): Promise<Row> {
  let sent = 0;
  const client = async (): Promise<void> => {
    while (sent < requests) {
      sent += 1;
      const authorization = `Bearer garbage-${sent}-${"x".repeat(40)}`;
      await getThrough({ ...http2, authorization }, "/api", 401);
    }
  };
  const end = await readings.begin();
  const began = performance.now();
  await Promise.all(Array.from({ length: 400 }, client));
  const seconds = (performance.now() - began) / 1000;
  const { cpuSeconds } = await end();
  return row("unknown keys, 400 at a time, HTTP/2", [sent / seconds, "/s"], {
    note: `${((cpuSeconds * 1e6) / sent).toFixed(0)} us of the gateway; each waits 100 ms`,
  });
}

/**
 * POST of a token to its answer with `status.token`, in turns with a POST to the API server by an
 * administrator, who reads the object until it has its token.
 */
export async function mintRows({ http1, direct }: Ways, tokens: number): Promise<readonly Row[]> {
  const { gateway, ceiling } = await inTurns(tokens, {
    gateway: (round) => timed(() => mintThrough(http1, `posted-${round}`)),
    ceiling: (round) =>
      timed(async () => {
        const name = `read-${round}`;
        let answer = await send(direct, "POST", tokenRequest(name, "").body);
        while (!isMinted(answer)) answer = await send(direct, "GET", undefined, name);
      }),
  });
  const what = "POST of a token to its answer with status.token";
  const [p50, p99] = [0.5, 0.99].map((part) => percentile(gateway, part));
  return [
    latencyRow(what, gateway, { ceiling: percentile(ceiling, 0.99) }),
    row(`${what}: p99 of p50`, [(p99 ?? Number.NaN) / (p50 ?? Number.NaN), "times"], {
      goal: "<= 3",
      note: `of the bare client's ${(percentile(ceiling, 0.99) / percentile(ceiling, 0.5)).toFixed(1)}`,
    }),
  ];
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function mintThrough(way: Way, name: string): Promise<void> {
  const answer = await send(way, "POST", tokenRequest(name, "").body);
  if (!isMinted(answer)) throw new Error("the answer to the POST of a token has no token");
}

async function send(
  { pool, prefix, authorization }: Way,
  method: "GET" | "POST",
  body?: unknown,
  name?: string,
): Promise<unknown> {
  const { statusCode, body: answer } = await pool.request({
    method,
    path: prefix + ownPath("directclusterendpointtokens", name),
    headers: { authorization, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (statusCode > 201) throw new Error(`${method} of a token: ${statusCode}`);
  return parsed(text);
}

const isMinted = (token: unknown): boolean =>
  stringAt(recordAt(token, "status"), "token") !== undefined;
