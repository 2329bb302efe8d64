import { setTimeout as pause } from "node:timers/promises";
import { performance } from "node:perf_hooks";
import { parseConditions, recordAt, stringAt } from "../../src/api/parse.ts";
import { latencyRow } from "./latency.ts";
import { keyRequest, metadataOf, ownPath, parsed } from "../support/bench-objects.ts";
import type { Row } from "./report.ts";
import type { Size } from "./sizes.ts";
import { watchCollection } from "./watch-collection.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

const day = 86_400;
const keysPath = (name?: string): string => ownPath("ownedaccesskeys", name);

/**
 * The rate, in keys per second, at which the bare client patches the status of keys, while no
 * controller runs: one write for each.
 */
export async function keyStatusCeiling(
  { admin, account }: BenchFixture,
  { together }: Size["keys"],
): Promise<number> {
  const name = (index: number): string => `ceiling-${index}`;
  await admin.pour(together, (index) => keyRequest(name(index), "ceiling", day));
  const ms = await account.pour(together, (index) => ({
    method: "PATCH",
    path: `${keysPath(name(index))}/status`,
    body: { status: { observedGeneration: 1, conditions: ceilingConditions } },
  }));
  await admin.pour(together, (index) => ({ method: "DELETE", path: keysPath(name(index)) }));
  return (together * 1000) / ms;
}

const ceilingConditions = ["Active", "Expired", "Expiring", "Ready", "Stalled"].map((type) => ({
  type,
  status: "False",
  reason: "Ceiling",
  message: "As long as what the controller says of a key whose life ended at 2026-01-01T00:00:00Z.",
  observedGeneration: 1,
  lastTransitionTime: "2026-01-01T00:00:00Z",
}));

/**
 * The delay of the status Expired of keys that expire in the same second; `ceiling` in keys per
 * second.
 */
export async function togetherRows(
  fixture: BenchFixture,
  running: Running,
  { size, ceiling }: { readonly size: Size["keys"]; readonly ceiling: number },
): Promise<readonly Row[]> {
  const { admin, say } = fixture;
  const { together, requesters } = size;
  const name = (index: number): string => `together-${index}`;
  const createdAt: number[] = [];
  say(`creating ${together} keys that end in the same second`);
  await admin.pour(
    together,
    (index) => keyRequest(name(index), `holder-${index % requesters}`, day),
    (body, index) => {
      createdAt[index] =
        Date.parse(stringAt(recordAt(parsed(body), "metadata"), "creationTimestamp") ?? "") / 1000;
    },
  );
  await running.readings.settled();
  const endsAt = Math.ceil(Date.now() / 1000) + 10 + Math.ceil(together / 100);
  await admin.pour(together, (index) => ({
    method: "PATCH",
    path: keysPath(name(index)),
    body: { spec: { ttl: endsAt - (createdAt[index] ?? 0) } },
  }));
  await running.readings.settled();
  const late = new Map<string, number>();
  const all = Promise.withResolvers<void>();
  const watch = await watchCollection(admin, keysPath(), {
    isKept: (line) => line.includes('"name":"together-'),
  });
  watch.each(({ object, at }) => {
    const conditions = parseConditions(recordAt(object, "status"));
    const isSaid =
      conditions.some(({ type, status }) => type === "Expired" && status === "True") &&
      conditions.some(({ type, status }) => type === "Active" && status === "False");
    if (!isSaid || late.has(metadataOf(object).name)) return;
    late.set(metadataOf(object).name, performance.timeOrigin + at - endsAt * 1000);
    if (late.size === together) all.resolve();
  });
  const aheadMs = endsAt * 1000 - Date.now();
  if (aheadMs < 0)
    throw new Error(
      `the keys ended ${-aheadMs} ms before all of them were written: give them more time`,
    );
  await pause(Math.max(0, aheadMs - 500));
  const end = await running.readings.begin();
  await all.promise;
  await running.readings.settled();
  const usage = await end();
  watch.stop();
  const values = [...late.values()].sort((one, other) => one - other);
  const last = values.at(-1) ?? 0;
  const { POST = 0, PATCH = 0 } = usage.requests;
  const note = `earliest ${(values[0] ?? 0).toFixed(1)} ms, last ${last.toFixed(1)} ms; ${((POST + PATCH) / together).toFixed(2)} writes/key in all`;
  return [
    {
      name: `say of ${together} keys that end together that they are Expired`,
      measured: (together * 1000) / last,
      unit: "keys/s",
      ceiling,
      usage,
      note,
    },
    latencyRow(`end to Expired of ${together} keys that end together`, values),
  ];
}
