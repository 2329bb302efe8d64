import { setTimeout as pause } from "node:timers/promises";
import { foreignRequest, namespaceRequest, sharedSecretRequest } from "../support/bench-objects.ts";
import {
  type Bench,
  type BenchFixture,
  type RunningController,
  withController,
} from "./bench-fixture.ts";
import { peakMemory } from "./controller-readings.ts";
import { type Row, row } from "./report.ts";
import type { Size } from "./sizes.ts";
import { watchCollection } from "./watch-collection.ts";

/** Starts a controller with many objects, first without copies, then with all, and leaves it idle. */
export async function start({ fixture, size, report }: Bench): Promise<void> {
  await seedMany(fixture, size.many);
  fixture.say("first fill");
  await withController(fixture, async (running) => report([await fillRow(running, size.many)]));
  fixture.say("start over all of it");
  const running = await fixture.start();
  report(await startRows(running, size.many));
  fixture.say(`idle for ${size.idleSeconds} s`);
  report(await idleRows(fixture, running, size.idleSeconds));
  await running.stop();
}

/**
 * Creates the many SharedSecrets, and the Secrets that Latchkey does not manage, with the bare
 * client while no controller runs.
 */
async function seedMany(
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

/** The time that the controller needs to create all copies of the seeded objects. */
async function fillRow(
  { readings }: RunningController,
  { sources, targets }: Size["many"],
): Promise<Row> {
  const { seconds, usage } = await readings.untilSettled(1_800_000);
  const copies = sources * targets;
  const note = `${seconds.toFixed(1)} s, statuses and finalizers too`;
  const name = `first fill: ${sources} sources, ${copies} copies`;
  return row(name, [copies / seconds, "copies/s"], { usage, note });
}

/** A start with all objects up to date. */
async function startRows(
  running: RunningController,
  { sources, targets, foreign }: Size["many"],
): Promise<readonly Row[]> {
  const ready = ((await running.ready()) - running.startedAt) / 1000;
  const { blockMs: blockBefore } = await running.readings.read();
  const end = await running.readings.begin();
  const first = ((await running.readings.settled(600_000)) - running.startedAt) / 1000;
  const spent = await end();
  const usage = { ...spent, blockMs: Math.max(spent.blockMs, blockBefore) };
  const { POST = 0, PATCH = 0, DELETE = 0 } = usage.requests;
  const peak = peakMemory(running.pid);
  const what = `${sources} + ${sources * targets} + ${foreign} objects`;
  return [
    row(`start with ${what}: ready`, [ready, "s"]),
    row("start: first reconcile of all objects", [first, "s"], {
      usage,
      note: `${POST + PATCH + DELETE} writes`,
    }),
    row("start: longest block", [usage.blockMs, "ms"], { goal: "< 50 ms" }),
    row("memory, resident", [usage.residentMB, "MB"], {
      goal: "< 300 MB",
      note: peak === undefined ? undefined : `peak ${peak.toFixed(0)} MB`,
    }),
  ];
}

/**
 * Requests and CPU of an idle controller, without the renewals of its Lease, which are counted by
 * their events.
 */
async function idleRows(
  { admin }: BenchFixture,
  { readings }: RunningController,
  seconds: number,
): Promise<readonly Row[]> {
  await readings.settled();
  let renewals = 0;
  const isKept = (): boolean => {
    renewals += 1;
    return false;
  };
  const path = "/apis/coordination.k8s.io/v1/namespaces/latchkey-system/leases";
  const leases = await watchCollection(admin, path, { isKept });
  const end = await readings.begin();
  const before = renewals;
  await pause(seconds * 1000);
  const usage = await end();
  const renewed = renewals - before;
  leases.stop();
  const { GET = 0, POST = 0, PUT = 0, PATCH = 0, DELETE = 0 } = usage.requests;
  // The last renewal may have got its response before its event arrived.
  const writes = Math.max(0, POST + PUT + PATCH + DELETE - renewed - 1);
  const note = `${renewed} renewals of the Lease, ${GET} GETs`;
  const cpu = (usage.cpuSeconds / seconds) * 100;
  return [
    row(`idle for ${seconds} s: writes`, [writes, "writes"], { goal: "0", usage, note }),
    row("idle: CPU", [cpu, "%"], { goal: "< 1 %" }),
  ];
}
