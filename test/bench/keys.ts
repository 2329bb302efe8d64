import { setTimeout as pause } from "node:timers/promises";
import { performance } from "node:perf_hooks";
import { parseConditions, recordAt, stringAt } from "../../src/api/parse.ts";
import { patch, remove } from "../support/bare-client.ts";
import { keyRequest, metadataOf, ownPath, parsed } from "../support/bench-objects.ts";
import { type Bench, type BenchFixture, type Running, withController } from "./bench-fixture.ts";
import { latencyRow, type Row, row } from "./report.ts";
import type { Size } from "./sizes.ts";
import { watchCollection } from "./watch-collection.ts";

const day = 86_400;
/** The first key expires this long after the last one was created, in seconds. */
const leadSeconds = 8;
const keysPath = (name?: string): string => ownPath("ownedaccesskeys", name);

/** Keys that are taken in by a new controller, that expire one by one, and that expire together. */
export async function keys({ fixture, size: { keys: size }, report }: Bench): Promise<void> {
  const { admin, say } = fixture;
  const ceiling = await keyStatusCeiling(fixture, size);
  say(`seeding ${size.lasting} keys that last`);
  await admin.pour(size.lasting, (index) =>
    keyRequest(`lasting-${index}`, `holder-${index % size.requesters}`, day),
  );
  say("taking them in");
  await withController(fixture, async (running) => {
    report([await takeInRow(running, size)]);
    report([await expiryRow(fixture, running, size)]);
    report(await togetherRows(fixture, running, { ...size, ceiling }));
  });
}

/**
 * The rate, in keys per second, at which the bare client patches the status of keys, while no
 * controller runs: one write for each.
 */
async function keyStatusCeiling(
  { admin, account }: BenchFixture,
  { together }: Size["keys"],
): Promise<number> {
  const name = (index: number): string => `ceiling-${index}`;
  const status = { observedGeneration: 1, conditions: ceilingConditions };
  await admin.pour(together, (index) => keyRequest(name(index), "ceiling", day));
  const ms = await account.pour(together, (index) =>
    patch(`${keysPath(name(index))}/status`, { status }),
  );
  await admin.pour(together, (index) => remove(keysPath(name(index))));
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

/** The time that a started controller needs for all seeded keys. */
async function takeInRow({ readings }: Running, { lasting }: Size["keys"]): Promise<Row> {
  const { seconds, usage } = await readings.untilSettled(3_600_000);
  const note = `${seconds.toFixed(1)} s; finalizer, grant and status`;
  return row(`take in ${lasting} keys`, [lasting / seconds, "keys/s"], { usage, note });
}

/** The times of the events with the expected conditions of keys, on the clock of `Date`. */
interface ExpiredKeys {
  readonly all: Promise<void>;
  /** Milliseconds after the end of each key. */
  readonly late: ReadonlyMap<string, number>;
  readonly stop: () => void;
}

/** Watches keys of a name prefix until this many have a status that says their end. */
async function watchExpired(
  { admin }: BenchFixture,
  {
    prefix,
    count,
    says,
  }: { prefix: string; count: number; says: Readonly<Record<string, string>> },
  endOf: (status: unknown) => number,
): Promise<ExpiredKeys> {
  const late = new Map<string, number>();
  const all = Promise.withResolvers<void>();
  const watch = await watchCollection(admin, keysPath(), {
    isKept: (line) => line.includes(`"name":"${prefix}-`),
  });
  watch.each(({ object, at }) => {
    const status = recordAt(object, "status");
    const conditions = parseConditions(status);
    const isSaid = Object.entries(says).every(([type, value]) =>
      conditions.some((condition) => condition.type === type && condition.status === value),
    );
    const { name } = metadataOf(object);
    if (!isSaid || late.has(name)) return;
    late.set(name, performance.timeOrigin + at - endOf(status));
    if (late.size === count) all.resolve();
  });
  return { all: all.promise, late, stop: watch.stop };
}

/** The delay of the status Expired of a key, beside many other keys that do not expire. */
async function expiryRow(
  fixture: BenchFixture,
  { readings }: Running,
  { lasting, expiring, withinSeconds, requesters }: Size["keys"],
): Promise<Row> {
  const { admin, say } = fixture;
  const { all, late, stop } = await watchExpired(
    fixture,
    { prefix: "brief", count: expiring, says: { Expired: "True" } },
    (status) => Date.parse(stringAt(status, "expiresAt") ?? ""),
  );
  say(`creating ${expiring} keys that expire within ${withinSeconds} s`);
  const end = await readings.begin();
  await admin.pour(expiring, (index) => {
    const ttl = leadSeconds + (index % withinSeconds);
    return keyRequest(`brief-${index}`, `holder-${index % requesters}`, ttl);
  });
  await all;
  const usage = await end();
  stop();
  const values = [...late.values()];
  const note = `earliest ${Math.min(...values).toFixed(1)} ms`;
  const name = `Expired of ${expiring} in ${withinSeconds} s of ${lasting + expiring} keys`;
  return latencyRow(name, values, { usage, note });
}

/**
 * The delay of the status Expired of keys that expire in the same second; `ceiling` in keys per
 * second.
 */
async function togetherRows(
  fixture: BenchFixture,
  { readings }: Running,
  { together, requesters, ceiling }: Size["keys"] & { readonly ceiling: number },
): Promise<readonly Row[]> {
  const { admin, say } = fixture;
  const name = (index: number): string => `together-${index}`;
  const createdAt: number[] = [];
  say(`creating ${together} keys that end in the same second`);
  await admin.pour(
    together,
    (index) => keyRequest(name(index), `holder-${index % requesters}`, day),
    (body, index) => {
      const created = stringAt(recordAt(parsed(body), "metadata"), "creationTimestamp");
      createdAt[index] = Date.parse(created ?? "") / 1000;
    },
  );
  await readings.settled();
  const endsAt = Math.ceil(Date.now() / 1000) + 10 + Math.ceil(together / 100);
  await admin.pour(together, (index) =>
    patch(keysPath(name(index)), { spec: { ttl: endsAt - (createdAt[index] ?? 0) } }),
  );
  await readings.settled();
  const says = { Expired: "True", Active: "False" };
  const terms = { prefix: "together", count: together, says };
  const { all, late, stop } = await watchExpired(fixture, terms, () => endsAt * 1000);
  const aheadMs = endsAt * 1000 - Date.now();
  if (aheadMs < 0)
    throw new Error(
      `the keys ended ${-aheadMs} ms before all of them were written: give them more time`,
    );
  await pause(Math.max(0, aheadMs - 500));
  const end = await readings.begin();
  await all;
  await readings.settled();
  const usage = await end();
  stop();
  const values = [...late.values()].sort((one, other) => one - other);
  const last = values.at(-1) ?? 0;
  const { POST = 0, PATCH = 0 } = usage.requests;
  const note = `earliest ${(values[0] ?? 0).toFixed(1)} ms, last ${last.toFixed(1)} ms; ${((POST + PATCH) / together).toFixed(2)} writes/key in all`;
  const what = `say of ${together} keys that end together that they are Expired`;
  return [
    row(what, [(together * 1000) / last, "keys/s"], { ceiling, usage, note }),
    latencyRow(`end to Expired of ${together} keys that end together`, values),
  ];
}
