import { performance } from "node:perf_hooks";
import { parseConditions, recordAt, stringAt } from "../../src/api/parse.ts";
import { latencyRow } from "./latency.ts";
import { keyRequest, metadataOf, ownPath } from "../support/bench-objects.ts";
import type { Row } from "./report.ts";
import type { Size } from "./sizes.ts";
import { watchCollection } from "./watch-collection.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

const day = 86_400;
/** The first key expires this long after the last one was created, in seconds. */
const leadSeconds = 8;

/** Keys that do not expire soon, created by the bare client while no controller runs. */
export async function seedKeys(
  { admin, say }: BenchFixture,
  { lasting, requesters }: Size["keys"],
): Promise<void> {
  say(`seeding ${lasting} keys that last`);
  await admin.pour(lasting, (index) =>
    keyRequest(`lasting-${index}`, `holder-${index % requesters}`, day),
  );
}

/**
 * The time that the controller needs for all seeded keys: it is started here, and keeps running.
 */
export async function takeInKeys(
  fixture: BenchFixture,
  { lasting }: Size["keys"],
): Promise<{ readonly rows: readonly Row[]; readonly running: Running }> {
  fixture.say("taking them in");
  const running = await fixture.start();
  await running.ready();
  const end = await running.readings.begin();
  const began = performance.now();
  const seconds = ((await running.readings.settled(3_600_000)) - began) / 1000;
  const usage = await end();
  return {
    rows: [
      {
        name: `take in ${lasting} keys`,
        measured: lasting / seconds,
        unit: "keys/s",
        usage,
        note: `${seconds.toFixed(1)} s; finalizer, grant and status`,
      },
    ],
    running,
  };
}

/** The delay of the status Expired of a key, beside many other keys that do not expire. */
export async function expiryRows(
  fixture: BenchFixture,
  running: Running,
  { lasting, expiring, withinSeconds, requesters }: Size["keys"],
): Promise<readonly Row[]> {
  const { admin, say } = fixture;
  const late = new Map<string, number>();
  const all = Promise.withResolvers<void>();
  const watch = await watchCollection(admin, ownPath("ownedaccesskeys"), {
    isKept: (line) => line.includes('"name":"brief-'),
  });
  watch.each(({ object, at }) => {
    const status = recordAt(object, "status");
    const isExpired = parseConditions(status).some(
      (condition) => condition.type === "Expired" && condition.status === "True",
    );
    const { name } = metadataOf(object);
    if (!isExpired || late.has(name)) return;
    late.set(name, performance.timeOrigin + at - Date.parse(stringAt(status, "expiresAt") ?? ""));
    if (late.size === expiring) all.resolve();
  });
  say(`creating ${expiring} keys that expire within ${withinSeconds} s`);
  const end = await running.readings.begin();
  await admin.pour(expiring, (index) =>
    keyRequest(
      `brief-${index}`,
      `holder-${index % requesters}`,
      leadSeconds + (index % withinSeconds),
    ),
  );
  await all.promise;
  const usage = await end();
  watch.stop();
  const values = [...late.values()];
  return [
    latencyRow(
      `Expired of ${expiring} in ${withinSeconds} s of ${lasting + expiring} keys`,
      values,
      { usage, note: `earliest ${Math.min(...values).toFixed(1)} ms` },
    ),
  ];
}
