import { performance } from "node:perf_hooks";
import { numberAt, recordAt } from "../../src/api/parse.ts";
import { secretCeiling, type SecretCeiling } from "./ceiling.ts";
import {
  dataOf,
  home,
  parsed,
  placeholderRequest,
  secretPath,
  sharedSecretPath,
  sharedSecretRequest,
  type TargetForm,
} from "../support/bench-objects.ts";
import { median } from "../support/percentile.ts";
import {
  type Arrivals,
  type BareRound,
  countArrivals,
  type Round,
  timerOf,
} from "./fan-out-rounds.ts";
import type { Costs } from "./processor-costs.ts";
import type { Row, Usage } from "./report.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

/** Rounds of the same change, with as many rounds of the bare client. */
interface Rounds {
  readonly latchkey: Round[];
  readonly bare: BareRound[];
}

/** What is measured, and where. */
interface Terms {
  readonly project: string;
  readonly namespaces: readonly string[];
  readonly rounds: number;
  readonly form: TargetForm;
}

/**
 * Syncs one SharedSecret to all namespaces of a project, repeatedly, alternating with the bare
 * client, which writes the same number of Secrets of the same size with the same account; the rows
 * are those of the median rounds.
 */
export async function fanOutRows(
  fixture: BenchFixture,
  running: Running,
  terms: Terms,
): Promise<readonly Row[]> {
  const { project, namespaces, form } = terms;
  const [first, second]: readonly [Rounds, Rounds] = [
    { latchkey: [], bare: [] },
    { latchkey: [], bare: [] },
  ];
  const unchanged: Round[] = [];
  const { admin, account } = fixture;
  const bare = secretCeiling(account, namespaces, form);
  const width = namespaces.length;
  const timed = timerOf(fixture, running);
  for (let round = 0; round < terms.rounds; round += 1) {
    const name = `fan-out-${width}-${round}-${Math.floor(performance.now())}`;
    const place = sharedSecretPath(home, name);
    await preparePlaceholders(fixture, running, { ...terms, name, bare });
    const arrivals = await countArrivals(fixture);
    first.bare.push(
      await timed.bare(async () => {
        await (form === "copies" ? bare.create() : bare.replace());
        return arrivals.bare.take(width);
      }),
    );
    first.latchkey.push(
      await timed.latchkey(async () => {
        await admin.send(sharedSecretRequest({ name, project }, 1));
        return arrivals.latchkey.take(width);
      }),
    );
    await running.readings.settled();
    second.bare.push(
      await timed.bare(async () => {
        await bare.replace();
        return arrivals.bare.take(width);
      }),
    );
    second.latchkey.push(
      await timed.latchkey(async () => {
        await admin.send({ method: "PATCH", path: place, body: { spec: { data: dataOf(2) } } });
        return arrivals.latchkey.take(width);
      }),
    );
    await running.readings.settled();
    unchanged.push(await timed.latchkey(() => describeAnew(fixture, name)));
    arrivals.stop();
    await bare.remove();
    await admin.send({ method: "DELETE", path: place });
    await running.readings.settled();
    await removePlaceholders(fixture, { ...terms, name });
    await running.readings.settled();
  }
  const names = form === "copies" ? ["create", "update"] : ["fill", "update placeholders of"];
  return [
    ...ratesOf(`${names[0]} ${width}`, width, first),
    ...ratesOf(`${names[1]} ${width}`, width, second),
    ...(form === "copies" ? [unchangedRow(width, unchanged)] : []),
  ];
}

/** Creates a Secret in each namespace for the round, and one for the bare client. */
async function preparePlaceholders(
  { admin }: BenchFixture,
  running: Running,
  { namespaces, form, name, bare }: Terms & { readonly name: string; readonly bare: SecretCeiling },
): Promise<void> {
  if (form === "copies") return;
  await admin.pour(namespaces.length, (index) =>
    placeholderRequest(namespaces[index] ?? "", { namespace: home, name }),
  );
  await bare.create();
  await running.readings.settled();
}

async function removePlaceholders(
  { admin }: BenchFixture,
  { namespaces, form, name }: Terms & { readonly name: string },
): Promise<void> {
  if (form === "copies") return;
  await admin.pour(namespaces.length, (index) => ({
    method: "DELETE",
    path: secretPath(namespaces[index] ?? "", name),
  }));
}

/** A change of the display name changes no copy; it is done when the status is updated. */
async function describeAnew({ admin }: BenchFixture, name: string): Promise<Arrivals> {
  const path = sharedSecretPath(home, name);
  const generation = (text: string): number =>
    numberAt(recordAt(parsed(text), "metadata"), "generation") ?? 0;
  const wanted = generation(
    await admin.send({ method: "PATCH", path, body: { spec: { description: "described anew" } } }),
  );
  for (;;) {
    const status = recordAt(parsed(await admin.send({ method: "GET", path })), "status");
    if (numberAt(status, "observedGeneration") !== wanted) continue;
    const now = performance.now();
    return { first: now, last: now };
  }
}

/** The rate, and the processor time of all processes, each beside the bare client's. */
function ratesOf(name: string, width: number, { latchkey, bare }: Rounds): readonly Row[] {
  const rate = (rounds: readonly BareRound[]): number =>
    (width * 1000) / median(rounds.map(({ ms }) => ms));
  const [measured, ceiling] = [rate(latchkey), rate(bare)];
  const [costs, bareCosts] = [costsOf(latchkey, width), costsOf(bare, width)];
  return [
    {
      name,
      measured,
      unit: "targets/s",
      ceiling,
      wanted: ">= 0.90",
      met: measured / ceiling >= 0.9,
      ...spent(latchkey, width),
      note: `${spreadOf(latchkey)}; first after ${firstOf(latchkey)} (bare ${firstOf(bare)})`,
    },
    {
      name: `${name}: processor time`,
      measured: sumOf(costs),
      unit: "ms/target",
      ceiling: sumOf(bareCosts),
      note: Object.keys(costs)
        .map((process) => `${process} ${ms(costs[process])} (bare ${ms(bareCosts[process])})`)
        .join(", "),
    },
  ];
}

function unchangedRow(width: number, rounds: readonly Round[]): Row {
  const writes = Math.max(...rounds.map(({ usage }) => writesBesideStatus(usage)));
  return {
    name: `no change ${width}`,
    measured: writes,
    unit: "writes",
    wanted: "0",
    met: writes === 0,
    ...spent(rounds, width),
    note: `status after ${median(rounds.map((round) => round.ms)).toFixed(0)} ms`,
  };
}

function firstOf(rounds: readonly BareRound[]): string {
  return `${median(rounds.map(({ firstMs }) => firstMs)).toFixed(0)} ms`;
}

/** Milliseconds of processor time for each target, by process. */
function costsOf(rounds: readonly BareRound[], width: number): Costs {
  const names = Object.keys(rounds[0]?.costs ?? {});
  const sum = (name: string): number =>
    rounds.reduce((total, { costs }) => total + (costs[name] ?? Number.NaN), 0);
  return Object.fromEntries(names.map((name) => [name, sum(name) / rounds.length / width]));
}

function sumOf(costs: Costs): number {
  return Object.values(costs).reduce((total, each) => total + each, 0);
}

function ms(value = Number.NaN): string {
  return `${value.toFixed(2)} ms`;
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
