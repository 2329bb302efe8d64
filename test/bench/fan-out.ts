import { performance } from "node:perf_hooks";
import { labels } from "../../src/api/names.ts";
import { numberAt, recordAt } from "../../src/api/parse.ts";
import type { Watch } from "../support/bare-client.ts";
import { secretCeiling } from "./ceiling.ts";
import {
  dataOf,
  home,
  metadataOf,
  parsed,
  sharedSecretPath,
  sharedSecretRequest,
} from "../support/bench-objects.ts";
import { median } from "../support/percentile.ts";
import type { Row, Usage } from "./report.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

/** Times of the fan-outs to this many namespaces of one project: one entry for each round. */
interface Rounds {
  readonly create: Round[];
  readonly update: Round[];
  readonly unchanged: Round[];
  /** Milliseconds that the bare client needed. */
  readonly ceilings: Readonly<Record<"create" | "update", number[]>>;
}

interface Round {
  readonly ms: number;
  readonly usage: Usage;
}

/**
 * Syncs one SharedSecret to all namespaces of a project, repeatedly, alternating with the bare
 * client, which writes the same number of Secrets of the same size with the same account; the rows
 * are those of the median rounds.
 */
export async function fanOutRows(
  fixture: BenchFixture,
  running: Running,
  {
    project,
    namespaces,
    rounds,
  }: { readonly project: string; readonly namespaces: readonly string[]; readonly rounds: number },
): Promise<readonly Row[]> {
  const taken: Rounds = {
    create: [],
    update: [],
    unchanged: [],
    ceilings: { create: [], update: [] },
  };
  const bare = secretCeiling(fixture.account, namespaces);
  const width = namespaces.length;
  for (let round = 0; round < rounds; round += 1) {
    const name = `fan-out-${width}-${round}-${Math.floor(performance.now())}`;
    const arrivals = await countCopies(fixture);
    taken.ceilings.create.push(await bare.create());
    taken.create.push(
      await timed(running, async () => {
        await fixture.admin.send(sharedSecretRequest({ name, project }, 1));
        return arrivals.reach(width);
      }),
    );
    await running.readings.settled();
    taken.ceilings.update.push(await bare.replace());
    taken.update.push(
      await timed(running, async () => {
        await fixture.admin.send({
          method: "PATCH",
          path: sharedSecretPath(home, name),
          body: { spec: { data: dataOf(2) } },
        });
        return arrivals.reach(2 * width);
      }),
    );
    await running.readings.settled();
    taken.unchanged.push(await timed(running, () => describeAnew(fixture, name)));
    arrivals.stop();
    await bare.remove();
    await fixture.admin.send({ method: "DELETE", path: sharedSecretPath(home, name) });
    await running.readings.settled();
  }
  return rowsOf(width, taken);
}

async function timed(running: Running, work: () => Promise<number>): Promise<Round> {
  const end = await running.readings.begin();
  const began = performance.now();
  const ms = (await work()) - began;
  // The last responses to the controller may still be pending when the watch has delivered the
  // events of their writes.
  return { ms, usage: await end() };
}

/** Counts the events of all copies, without parsing the lines. */
async function countCopies({
  admin,
}: BenchFixture): Promise<{ reach(count: number): Promise<number>; stop: () => void }> {
  let seen = 0;
  let wake: { readonly count: number; readonly resolve: (at: number) => void } | undefined;
  const { resourceVersion } = metadataOf(
    parsed(await admin.send({ method: "GET", path: "/api/v1/secrets?limit=1" })),
  );
  const selector = encodeURIComponent(labels.sourceUid);
  const watch: Watch = admin.watch(
    `/api/v1/secrets?watch=1&labelSelector=${selector}&resourceVersion=${resourceVersion}`,
    (_, at) => {
      seen += 1;
      if (seen === wake?.count) wake.resolve(at);
    },
  );
  await watch.opened;
  return {
    reach: (count) =>
      seen >= count
        ? Promise.resolve(performance.now())
        : new Promise((resolve) => void (wake = { count, resolve })),
    stop: watch.stop,
  };
}

/** A change of the display name changes no copy; it is done when the status is updated. */
async function describeAnew({ admin }: BenchFixture, name: string): Promise<number> {
  const path = sharedSecretPath(home, name);
  const generation = (text: string): number =>
    numberAt(recordAt(parsed(text), "metadata"), "generation") ?? 0;
  const wanted = generation(
    await admin.send({ method: "PATCH", path, body: { spec: { description: "described anew" } } }),
  );
  for (;;) {
    const status = recordAt(parsed(await admin.send({ method: "GET", path })), "status");
    if (numberAt(status, "observedGeneration") === wanted) return performance.now();
  }
}

function rowsOf(width: number, { create, update, unchanged, ceilings }: Rounds): readonly Row[] {
  const rate = (times: readonly number[]): number => (width * 1000) / median(times);
  const against = (name: string, rounds: readonly Round[], bare: readonly number[]): Row => {
    const [measured, ceiling] = [rate(rounds.map(({ ms }) => ms)), rate(bare)];
    return {
      name,
      measured,
      unit: "targets/s",
      ceiling,
      wanted: ">= 0.90",
      met: measured / ceiling >= 0.9,
      ...spent(rounds, width),
      note: spreadOf(rounds),
    };
  };
  const idle = spent(unchanged, width);
  const writes = Math.max(...unchanged.map(({ usage }) => writesBesideStatus(usage)));
  return [
    against(`create ${width}`, create, ceilings.create),
    against(`update ${width}`, update, ceilings.update),
    {
      name: `no change ${width}`,
      measured: writes,
      unit: "writes",
      wanted: "0",
      met: writes === 0,
      ...idle,
      note: `status after ${median(unchanged.map(({ ms }) => ms)).toFixed(0)} ms`,
    },
  ];
}

/** One PUT may be the renewal of the Lease. */
function writesBesideStatus({ requests: { POST = 0, PUT = 0, DELETE = 0 } }: Usage): number {
  return POST + DELETE + Math.max(0, PUT - 1);
}

function spreadOf(rounds: readonly Round[]): string {
  const ms = rounds.map((round) => round.ms);
  return `${rounds.length} rounds, ${Math.min(...ms).toFixed(0)} to ${Math.max(...ms).toFixed(0)} ms`;
}

function spent(
  rounds: readonly Round[],
  width: number,
): { readonly usage: Usage; readonly writesPerTarget: number } {
  const sum = (of: (usage: Usage) => number): number =>
    rounds.reduce((total, { usage }) => total + of(usage), 0);
  const methods = [...new Set(rounds.flatMap(({ usage }) => Object.keys(usage.requests)))];
  const requests = Object.fromEntries(
    methods.map((method) => [method, sum((usage) => usage.requests[method] ?? 0)]),
  );
  const usage = {
    requests,
    cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds) / rounds.length,
    residentMB: Math.max(...rounds.map((round) => round.usage.residentMB)),
    blockMs: Math.max(...rounds.map((round) => round.usage.blockMs)),
  };
  return {
    usage,
    writesPerTarget: ((requests.POST ?? 0) + (requests.PUT ?? 0)) / (width * rounds.length),
  };
}
