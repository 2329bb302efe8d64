import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { latencyRow } from "./latency.ts";
import { metadataOf, ownPath, tokenRequest } from "../support/bench-objects.ts";
import type { Row } from "./report.ts";
import { watchCollection } from "./watch-collection.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

const collection = ownPath("directclusterendpointtokens");

/**
 * Longer than an authorization check of the API server waits for the one before: it reads bindings
 * from its watch cache, which requests progress from etcd at most every 100 ms
 * (ConsistentListFromCache).
 */
const aloneMs = 150;

/**
 * Tokens with a pause between them, tokens one after the other, then many at once; the rows need
 * the ceiling, in tokens per second.
 */
export async function mintRounds(
  fixture: BenchFixture,
  running: Running,
  { tokens, samples }: { readonly tokens: number; readonly samples: number },
): Promise<(ceiling: number) => readonly Row[]> {
  const { admin } = fixture;
  const minted = await watchMinted(fixture);
  const waitsOf = async (prefix: string, pauseMs: number): Promise<readonly number[]> => {
    const waits: number[] = [];
    for (let sample = 0; sample < samples; sample += 1) {
      const name = `${prefix}-${sample}`;
      await pause(pauseMs);
      await admin.send(tokenRequest(name, prefix));
      const answered = performance.now();
      waits.push(Math.max(0, (await minted.of(name)) - answered));
    }
    return waits;
  };
  const alone = await waitsOf("lone", aloneMs);
  const inRow = await waitsOf("row", 0);
  await running.readings.settled();
  const end = await running.readings.begin();
  const began = performance.now();
  await admin.pour(tokens, (index) => tokenRequest(`mass-${index}`, "masses"));
  const created = performance.now();
  const all = await Promise.all(
    Array.from({ length: tokens }, (_, index) => minted.of(`mass-${index}`)),
  );
  const usage = await end();
  minted.stop();
  await running.readings.settled();
  const measured = (tokens * 1000) / (Math.max(...all) - began);
  const { POST = 0, PUT = 0, PATCH = 0 } = usage.requests;
  const note = `created in ${(created - began).toFixed(0)} ms, ${((POST + PUT + PATCH) / tokens).toFixed(2)} writes/token beside the create`;
  return (ceiling) => [
    {
      name: `mint ${tokens} tokens`,
      measured,
      unit: "tokens/s",
      ceiling,
      wanted: ">= 1000/s",
      met: measured >= 1000,
      usage,
      note,
    },
    latencyRow("create to status.token, alone", alone, { belowMs: 100 }),
    latencyRow("create to status.token, one right after the other", inRow),
  ];
}

async function watchMinted({
  admin,
}: BenchFixture): Promise<{ of(name: string): Promise<number>; stop: () => void }> {
  const seen = new Map<string, PromiseWithResolvers<number>>();
  const entry = (name: string): PromiseWithResolvers<number> => {
    const standing = seen.get(name) ?? Promise.withResolvers<number>();
    seen.set(name, standing);
    return standing;
  };
  const watch = await watchCollection(admin, collection, {
    isKept: (line) => line.includes('"token":"'),
  });
  watch.each(({ object, at }) => {
    if (stringAt(recordAt(object, "status"), "token") !== undefined)
      entry(metadataOf(object).name).resolve(at);
  });
  return { of: (name) => entry(name).promise, stop: watch.stop };
}
