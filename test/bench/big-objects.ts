import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { type BareRequest, patch, remove } from "../support/bare-client.ts";
import { createRequest, home, sharedSecretPath, toProjects } from "../support/bench-objects.ts";
import { repository } from "../support/install.ts";
import { type Bench, type BenchFixture, seedNamespaces } from "./bench-fixture.ts";
import { peakMemory } from "./controller-readings.ts";
import { objectCostRows } from "./object-costs.ts";
import { type Row, row } from "./report.ts";

/** How long a controller may take to become idle, in milliseconds. */
const patienceMs = 300_000;

/** The memory limit of `config/controller`, in megabytes. */
const limitMB = (512 * 1024 * 1024) / 1e6;
const memoryGoal = `< ${limitMB.toFixed(0)} MB`;

/**
 * SharedSecrets of the maximum size, with and without copies: peak memory and longest block with
 * the shipped heap limit, during writes and at a start with existing objects.
 */
export async function bigObjects({ fixture, size, report }: Bench): Promise<void> {
  const { admin, say } = fixture;
  report(objectCostRows());
  const measure = async (what: string, request?: BareRequest): Promise<void> =>
    report(await whileWatched(fixture, what, request));
  for (const { targets, kilobytes } of size.big.fanOuts) {
    const project = `big-${kilobytes}`;
    const path = sharedSecretPath(home, project);
    await seedNamespaces({ ...fixture, say: () => {} }, project, targets);
    const what = `${targets} copies of ${kilobytes} kB`;
    say(what);
    await measure(`${what}: written`, createBig(project, kilobytes, project));
    await measure(`${what}: start over them`);
    await measure(`${what}: changed`, patch(path, { spec: { data: bigData(kilobytes) } }));
    await measure(`${what}: deleted`, remove(path));
  }
  const { count, kilobytes } = size.big.unsynced;
  const what = `${count} SharedSecrets of ${kilobytes} kB, not synced`;
  const name = (index: number): string => `unsynced-${index}`;
  say(what);
  for (let index = 0; index < count; index += 1)
    await admin.send(createBig(name(index), kilobytes));
  await measure(`${what}: first start`);
  await measure(`${what}: start over them`);
  await admin.pour(count, (index) => remove(sharedSecretPath(home, name(index))));
  await measure(`${what}: deleted`);
}

function createBig(name: string, kilobytes: number, project?: string): BareRequest {
  const data = bigData(kilobytes);
  return createRequest("SharedSecret", { name, ...toProjects(project) }, { data });
}

const bigData = (kilobytes: number): object => ({
  bundle: randomBytes(kilobytes * 1000).toString("base64"),
});

/**
 * Starts a controller with the shipped settings, lets it sync, sends the request if there is one,
 * waits until it is done, and stops it. A controller that exits or never becomes ready is a row
 * too.
 */
async function whileWatched(
  fixture: BenchFixture,
  name: string,
  request: BareRequest | undefined,
): Promise<readonly Row[]> {
  const blocks = join(fixture.controlPlane.directory, "blocks");
  rmSync(blocks, { force: true });
  const probe = `--import=${new URL("processor-blocks.ts", import.meta.url).href}`;
  const running = await fixture.start(`${shippedNodeOptions()} ${probe}`, { BLOCKS_FILE: blocks });
  const { readings } = running;
  const peak = watchPeak(running.pid);
  const began = performance.now();
  try {
    const ready = ((await running.ready()) - running.startedAt) / 1000;
    const longest = (await readings.read()).blockMs;
    const end = await readings.begin();
    await readings.settled(patienceMs);
    const settled = performance.now();
    if (request !== undefined) {
      await fixture.admin.send(request);
      await readings.settled(patienceMs);
    }
    const spent = await end();
    const usage = { ...spent, blockMs: Math.max(spent.blockMs, longest) };
    const done = ((performance.now() - settled) / 1000).toFixed(1);
    return [
      row(name, [peak.stop(), "MB peak"], {
        goal: memoryGoal,
        usage,
        note: `ready after ${ready.toFixed(1)} s, done ${done} s after the first reconcile of all objects`,
      }),
      row(`${name}: longest block`, [lastNumber(blocks), "ms"], {
        goal: "< 50 ms",
        note: `of processor time; with the time without a core ${usage.blockMs.toFixed(0)} ms`,
      }),
    ];
  } catch {
    const note = `not ready or dead after ${((performance.now() - began) / 1000).toFixed(0)} s`;
    const dead = row(name, [peak.stop(), "MB peak"], { goal: memoryGoal, note });
    return [{ ...dead, met: false }];
  } finally {
    await running.stop();
  }
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
