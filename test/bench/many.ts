import { performance } from "node:perf_hooks";
import { peakMemory } from "./controller-readings.ts";
import { foreignRequest, namespaceRequest, sharedSecretRequest } from "../support/bench-objects.ts";
import type { Row } from "./report.ts";
import type { Size } from "./sizes.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

/**
 * Creates the many SharedSecrets, and the Secrets that Latchkey does not manage, with the bare
 * client while no controller runs.
 */
export async function seedMany(
  { admin, say }: BenchFixture,
  { sources, targets, foreign }: Size["many"],
): Promise<void> {
  const homes = Math.ceil(sources / 100);
  const foreignNamespaces = Math.ceil(foreign / 1000);
  await admin.pour(targets, (index) => namespaceRequest(`many-${index}`, "many"));
  await admin.pour(homes, (index) => namespaceRequest(`many-home-${index}`));
  await admin.pour(foreignNamespaces, (index) => namespaceRequest(`many-foreign-${index}`));
  say(`seeding ${sources} SharedSecrets and ${foreign} foreign Secrets`);
  await admin.pour(sources, (index) =>
    sharedSecretRequest(
      { namespace: `many-home-${index % homes}`, name: `many-${index}`, project: "many" },
      index,
    ),
  );
  await admin.pour(foreign, (index) =>
    foreignRequest(`many-foreign-${index % foreignNamespaces}`, `foreign-${index}`),
  );
}

/**
 * The time that the controller needs to create all copies of the seeded objects: it is started
 * here.
 */
export async function fillMany(
  fixture: BenchFixture,
  { sources, targets }: Size["many"],
): Promise<readonly Row[]> {
  const running = await fixture.start();
  await running.ready();
  const end = await running.readings.begin();
  const began = performance.now();
  const seconds = ((await running.readings.settled(1_800_000)) - began) / 1000;
  const usage = await end();
  const copies = sources * targets;
  const row: Row = {
    name: `first fill: ${sources} sources, ${copies} copies`,
    measured: copies / seconds,
    unit: "copies/s",
    usage,
    note: `${seconds.toFixed(1)} s, statuses and finalizers too`,
  };
  await running.stop();
  return [row];
}

/** A start with all objects up to date; the controller keeps running. */
export async function startOverMany(
  fixture: BenchFixture,
  { sources, targets, foreign }: Size["many"],
): Promise<{ readonly rows: readonly Row[]; readonly running: Running }> {
  const running = await fixture.start();
  const ready = ((await running.ready()) - running.startedAt) / 1000;
  const { blockMs: blockBefore } = await running.readings.read();
  const end = await running.readings.begin();
  const first = ((await running.readings.settled(600_000)) - running.startedAt) / 1000;
  const spent = await end();
  const usage = { ...spent, blockMs: Math.max(spent.blockMs, blockBefore) };
  const { POST = 0, PATCH = 0, DELETE = 0 } = usage.requests;
  const peak = peakMemory(running.pid);
  const what = `${sources} + ${sources * targets} + ${foreign} objects`;
  const rows: readonly Row[] = [
    { name: `start with ${what}: ready`, measured: ready, unit: "s" },
    {
      name: "start: first reconcile of all objects",
      measured: first,
      unit: "s",
      usage,
      note: `${POST + PATCH + DELETE} writes`,
    },
    {
      name: "start: longest block",
      measured: usage.blockMs,
      unit: "ms",
      wanted: "< 50 ms",
      met: usage.blockMs < 50,
    },
    {
      name: "memory, resident",
      measured: usage.residentMB,
      unit: "MB",
      wanted: "< 300 MB",
      met: usage.residentMB < 300,
      ...(peak === undefined ? {} : { note: `peak ${peak.toFixed(0)} MB` }),
    },
  ];
  return { rows, running };
}
