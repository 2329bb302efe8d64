import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { annotations, apiVersion } from "../../src/api/names.ts";
import { repository } from "../support/install.ts";
import { peakMemory, type Readings } from "./controller-readings.ts";
import { objectCostRows } from "./object-costs.ts";
import { home, namespaceRequest, sharedSecretPath } from "../support/bench-objects.ts";
import type { Row } from "./report.ts";
import type { Size } from "./sizes.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

/** How long a controller may take to be ready, or to become idle, in milliseconds. */
const patienceMs = 300_000;

/** The memory limit of `config/controller`, in megabytes. */
const limitMB = (512 * 1024 * 1024) / 1e6;

/**
 * SharedSecrets of the maximum size, with and without copies: peak memory and longest block with
 * the shipped heap limit, during writes and at a start with existing objects.
 */
export async function bigObjectRows(
  fixture: BenchFixture,
  sizes: Size["big"],
  report: (rows: readonly Row[]) => void,
): Promise<void> {
  report(objectCostRows());
  for (const { targets, kilobytes } of sizes.fanOuts) {
    const project = `big-${kilobytes}`;
    await fixture.admin.pour(targets, (index) => namespaceRequest(`${project}-${index}`, project));
    const what = `${targets} copies of ${kilobytes} kB`;
    fixture.say(what);
    report(
      await whileWatched(fixture, `${what}: written`, async ({ readings }) => {
        await put(fixture, { name: project, project, kilobytes });
        await readings.settled(patienceMs);
      }),
    );
    report(await whileWatched(fixture, `${what}: start over them`, () => Promise.resolve()));
    report(
      await whileWatched(fixture, `${what}: changed`, async ({ readings }) => {
        await put(fixture, { name: project, project, kilobytes, method: "PATCH" });
        await readings.settled(patienceMs);
      }),
    );
    report(
      await whileWatched(fixture, `${what}: deleted`, async ({ readings }) => {
        await fixture.admin.send({ method: "DELETE", path: sharedSecretPath(home, project) });
        await readings.settled(patienceMs);
      }),
    );
  }
  const { count, kilobytes } = sizes.unsynced;
  const what = `${count} SharedSecrets of ${kilobytes} kB, not synced`;
  fixture.say(what);
  for (let index = 0; index < count; index += 1)
    await put(fixture, { name: `unsynced-${index}`, kilobytes });
  report(await whileWatched(fixture, `${what}: first start`, () => Promise.resolve()));
  report(await whileWatched(fixture, `${what}: start over them`, () => Promise.resolve()));
  await fixture.admin.pour(count, (index) => ({
    method: "DELETE",
    path: sharedSecretPath(home, `unsynced-${index}`),
  }));
  report(await whileWatched(fixture, `${what}: deleted`, () => Promise.resolve()));
}

interface Big {
  readonly name: string;
  readonly project?: string;
  readonly kilobytes: number;
  readonly method?: "PATCH";
}

/** Creates a SharedSecret of random bytes, or replaces its data. */
async function put(
  { admin }: BenchFixture,
  { name, project, kilobytes, method }: Big,
): Promise<void> {
  const data = { bundle: randomBytes(kilobytes * 1000).toString("base64") };
  if (method !== undefined)
    return void (await admin.send({
      method,
      path: sharedSecretPath(home, name),
      body: { spec: { data } },
    }));
  const to =
    project === undefined ? {} : { annotations: { [annotations.syncToProjects]: project } };
  await admin.send({
    method: "POST",
    path: sharedSecretPath(home),
    body: { apiVersion, kind: "SharedSecret", metadata: { name, ...to }, spec: { data } },
  });
}

/**
 * Starts a controller with the shipped settings, lets it sync and do the work, and stops it. A
 * controller that exits or never becomes ready is a row too.
 */
async function whileWatched(
  fixture: BenchFixture,
  name: string,
  work: (running: Running) => Promise<void>,
): Promise<readonly Row[]> {
  const blocks = join(fixture.controlPlane.directory, "blocks");
  rmSync(blocks, { force: true });
  const probe = `--import=${new URL("processor-blocks.ts", import.meta.url).href}`;
  const running = await fixture.start(`${shippedNodeOptions()} ${probe}`, { BLOCKS_FILE: blocks });
  const peak = watchPeak(running.pid);
  const began = performance.now();
  try {
    const ready = ((await running.ready()) - running.startedAt) / 1000;
    const longest = (await running.readings.read()).blockMs;
    const end = await running.readings.begin();
    await running.readings.settled(patienceMs);
    const settled = performance.now();
    await work(running);
    const spent = await end();
    const usage = { ...spent, blockMs: Math.max(spent.blockMs, longest) };
    return rowsOf(name, {
      peakMB: peak.stop(),
      usage,
      processorMs: lastNumber(blocks),
      note: `ready after ${ready.toFixed(1)} s, done ${((performance.now() - settled) / 1000).toFixed(1)} s after the first reconcile of all objects`,
    });
  } catch {
    return [
      {
        name,
        measured: peak.stop(),
        unit: "MB peak",
        wanted: `< ${limitMB.toFixed(0)} MB`,
        met: false,
        note: `not ready or dead after ${((performance.now() - began) / 1000).toFixed(0)} s`,
      },
    ];
  } finally {
    await running.stop();
  }
}

function rowsOf(
  name: string,
  {
    peakMB,
    usage,
    processorMs,
    note,
  }: {
    readonly peakMB: number;
    readonly processorMs: number;
    readonly usage: Awaited<ReturnType<Awaited<ReturnType<Readings["begin"]>>>>;
    readonly note: string;
  },
): readonly Row[] {
  return [
    {
      name,
      measured: peakMB,
      unit: "MB peak",
      wanted: `< ${limitMB.toFixed(0)} MB`,
      met: peakMB < limitMB,
      usage,
      note,
    },
    {
      name: `${name}: longest block`,
      measured: processorMs,
      unit: "ms",
      wanted: "< 50 ms",
      met: processorMs < 50,
      note: `of processor time; with the time without a core ${usage.blockMs.toFixed(0)} ms`,
    },
  ];
}

/** The last line of a file of numbers, 0 if the file is empty. */
function lastNumber(file: string): number {
  return existsSync(file) ? Number(readFileSync(file, "utf8").trim().split("\n").at(-1)) : 0;
}

/** Polls the peak, because it is lost when the process exits. */
function watchPeak(pid: number): { stop(): number } {
  let peak = 0;
  const read = (): void => void (peak = Math.max(peak, peakMemory(pid) ?? 0));
  const timer = setInterval(read, 50);
  return {
    stop() {
      clearInterval(timer);
      read();
      return peak;
    },
  };
}

/** NODE_OPTIONS of the shipped Deployment: the limit of V8's heap. */
function shippedNodeOptions(): string {
  const text = readFileSync(join(repository, "config", "controller", "deployment.yaml"), "utf8");
  const [, options] = /name: NODE_OPTIONS\n\s+value: (.+)\n/.exec(text) ?? [];
  if (options === undefined)
    throw new Error("config/controller/deployment.yaml sets no NODE_OPTIONS any more");
  return options;
}
