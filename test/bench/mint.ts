import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { metadataOf, namesOf, ownPath, tokenRequest } from "../support/bench-objects.ts";
import { repeated } from "../support/measured-run.ts";
import {
  type Bench,
  type BenchFixture,
  type RunningController,
  withWarmController,
} from "./bench-fixture.ts";
import { tokenCeiling } from "./ceiling.ts";
import { latencyRow, type Row, row } from "./report.ts";
import type { Size } from "./sizes.ts";
import { watchCollection } from "./watch-collection.ts";

const collection = ownPath("directclusterendpointtokens");

/**
 * Longer than an authorization check of the API server waits for the one before: it reads bindings
 * from its watch cache, which requests progress from etcd at most every 100 ms
 * (ConsistentListFromCache).
 */
const aloneMs = 150;

/** Mints tokens; the ceiling is measured before and after, without a controller. */
export async function mint({ fixture, size, report }: Bench): Promise<void> {
  fixture.say("minting");
  const before = await tokenCeiling(fixture);
  const minted = await withWarmController(fixture, (running) => mintRounds(fixture, running, size));
  report(minted((before + (await tokenCeiling(fixture))) / 2));
}

/**
 * Tokens with a pause between them, tokens one after the other, then many at once; the rows need
 * the ceiling, in tokens per second.
 */
async function mintRounds(
  fixture: BenchFixture,
  { readings }: RunningController,
  { tokens, samples }: Size,
): Promise<(ceiling: number) => readonly Row[]> {
  const { admin } = fixture;
  const minted = await watchMinted(fixture);
  const waitsOf = (prefix: string, pauseMs: number): Promise<readonly number[]> =>
    repeated(samples, async (sample) => {
      const name = `${prefix}-${sample}`;
      await pause(pauseMs);
      await admin.send(tokenRequest(name, prefix));
      const answered = performance.now();
      return Math.max(0, (await minted.of(name)) - answered);
    });
  const alone = await waitsOf("lone", aloneMs);
  const inRow = await waitsOf("row", 0);
  await readings.settled();
  const end = await readings.begin();
  const began = performance.now();
  const names = namesOf("mass", tokens);
  await admin.pour(tokens, (index) => tokenRequest(names[index] ?? "", "masses"));
  const created = performance.now();
  const all = await Promise.all(names.map((name) => minted.of(name)));
  const usage = await end();
  minted.stop();
  await readings.settled();
  const { POST = 0, PUT = 0, PATCH = 0 } = usage.requests;
  const note = `created in ${(created - began).toFixed(0)} ms, ${((POST + PUT + PATCH) / tokens).toFixed(2)} writes/token beside the create`;
  const measured = (tokens * 1000) / (Math.max(...all) - began);
  return (ceiling) => [
    row(`mint ${tokens} tokens`, [measured, "tokens/s"], {
      ceiling,
      goal: ">= 1000/s",
      usage,
      note,
    }),
    latencyRow("create to status.token, alone", alone, { goal: "< 100 ms" }),
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
