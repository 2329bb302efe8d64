import { performance } from "node:perf_hooks";
import { numberAt, recordAt } from "../../src/api/parse.ts";
import { patch, remove } from "../support/bare-client.ts";
import {
  dataOf,
  followedRequest,
  followerRequest,
  home,
  namesOf,
  placeholderRequest,
  secretPath,
  sharedSecretPath,
  sharedSecretRequest,
  type TargetForm,
} from "../support/bench-objects.ts";
import { median } from "../support/percentile.ts";
import {
  type Bench,
  type BenchFixture,
  removeSource,
  type Running,
  withWarmController,
} from "./bench-fixture.ts";
import { secretCeiling, type SecretCeiling } from "./ceiling.ts";
import {
  type Arrivals,
  type BareRound,
  countArrivals,
  type Round,
  timerOf,
} from "./fan-out-rounds.ts";
import type { Costs } from "./processor-costs.ts";
import { type Row, row, type Usage } from "./report.ts";

/**
 * Rounds of the same change, with as many rounds of the bare client, which writes the same with the
 * same account, and of an administrator who writes the same data without label and annotation.
 */
class Rounds {
  readonly latchkey: Round[] = [];
  readonly bare: BareRound[] = [];
  readonly plain: BareRound[] = [];
}

/** What is measured, and where. */
interface Terms {
  readonly project: string;
  readonly namespaces: readonly string[];
  readonly rounds: number;
  readonly form: FanOutForm;
}

/** What is synced: copies, also of a SharedSecret that follows a Secret, or placeholders. */
type FanOutForm = TargetForm | "followed";

/** The verbs of the rows about the first write of each Secret, and the second. */
const verbs: Readonly<Record<FanOutForm, readonly [first: string, second: string]>> = {
  copies: ["create", "update"],
  placeholders: ["fill", "update placeholders of"],
  followed: ["create from a Secret", "update from a Secret"],
};

/** Syncs to as many namespaces as the sizes say, as copies or into placeholders. */
export function fanOut({ fixture, size, report }: Bench, form: FanOutForm): Promise<void> {
  return withWarmController(fixture, async (running) => {
    for (const { targets, rounds } of size.fanOuts) {
      fixture.say(`${form} in ${targets} namespaces`);
      const project = `of-${targets}`;
      const namespaces = namesOf(project, targets);
      report(await fanOutRows(fixture, running, { project, namespaces, rounds, form }));
    }
  });
}

/**
 * Syncs one SharedSecret to all namespaces of a project, repeatedly, alternating with the bare
 * client, which writes the same number of Secrets of the same size with the same account; the rows
 * are those of the median rounds.
 */
async function fanOutRows(
  fixture: BenchFixture,
  running: Running,
  terms: Terms,
): Promise<readonly Row[]> {
  const { project, namespaces, form } = terms;
  const [first, second, unchanged] = [new Rounds(), new Rounds(), new Rounds().latchkey];
  const { admin, account } = fixture;
  const isFollowed = form === "followed";
  const bare = secretCeiling(account, namespaces, isFollowed ? "copies" : form);
  const plain = secretCeiling(admin, namespaces, "plain");
  const width = namespaces.length;
  const timed = timerOf(fixture, running);
  for (let round = 0; round < terms.rounds; round += 1) {
    const name = `fan-out-${width}-${round}-${Math.floor(performance.now())}`;
    await preparePlaceholders(fixture, running, { ...terms, name, ceilings: [bare, plain] });
    const arrivals = await countArrivals(fixture);
    const measure = async (
      rounds: Rounds,
      work: "create" | "replace",
      change: Parameters<typeof admin.send>[0],
    ): Promise<void> => {
      const turns = [
        async () =>
          void rounds.plain.push(
            await timed.bare(() => plain[work]().then(() => arrivals.plain.take(width))),
          ),
        async () =>
          void rounds.bare.push(
            await timed.bare(() => bare[work]().then(() => arrivals.bare.take(width))),
          ),
        async () =>
          void rounds.latchkey.push(
            await timed.latchkey(() =>
              admin.send(change).then(() => arrivals.latchkey.take(width)),
            ),
          ),
      ];
      // Another one begins each round, or one would always pay for the garbage of the one before.
      for (let turn = 0; turn < turns.length; turn += 1)
        await turns[(round + turn) % turns.length]?.();
      await running.readings.settled();
    };
    const follows = `${name}-source`;
    if (isFollowed) await admin.send(followedRequest({ name: follows, dataFor: name }, 1));
    await measure(
      first,
      form === "placeholders" ? "replace" : "create",
      isFollowed
        ? followerRequest({ name, project, follows })
        : sharedSecretRequest({ name, project }, 1),
    );
    const update = isFollowed
      ? patch(secretPath(home, follows), { data: dataOf(2) })
      : patch(sharedSecretPath(home, name), { spec: { data: dataOf(2) } });
    await measure(second, "replace", update);
    unchanged.push(await timed.latchkey(() => describeAnew(fixture, name)));
    arrivals.stop();
    await Promise.all([bare.remove(), plain.remove()]);
    await removeSource(fixture, running, name);
    if (isFollowed) await admin.send(remove(secretPath(home, follows)));
    if (form === "placeholders")
      await admin.pour(width, (index) => remove(secretPath(namespaces[index] ?? "", name)));
    await running.readings.settled();
  }
  const [firstVerb, secondVerb] = verbs[form];
  return [
    ...ratesOf(`${firstVerb} ${width}`, width, first),
    ...ratesOf(`${secondVerb} ${width}`, width, second),
    ...(form === "copies" ? [unchangedRow(width, unchanged)] : []),
  ];
}

/** Creates a Secret in each namespace for the round, and those of the bare clients. */
async function preparePlaceholders(
  { admin }: BenchFixture,
  { readings }: Running,
  {
    namespaces,
    form,
    name,
    ceilings,
  }: Terms & { readonly name: string; readonly ceilings: readonly SecretCeiling[] },
): Promise<void> {
  if (form !== "placeholders") return;
  await admin.pour(namespaces.length, (index) =>
    placeholderRequest(namespaces[index] ?? "", { namespace: home, name }),
  );
  for (const { create } of ceilings) await create();
  await readings.settled();
}

/** A change of the display name changes no copy; it is done when the status is updated. */
async function describeAnew({ admin }: BenchFixture, name: string): Promise<Arrivals> {
  const path = sharedSecretPath(home, name);
  const changed = await admin.ask(patch(path, { spec: { description: "described anew" } }));
  const wanted = numberAt(recordAt(changed, "metadata"), "generation") ?? 0;
  for (;;) {
    const status = recordAt(await admin.get(path), "status");
    if (numberAt(status, "observedGeneration") !== wanted) continue;
    const now = performance.now();
    return { first: now, last: now };
  }
}

/**
 * The rates, and the processor time of all processes, beside the bare client's; and the bare
 * client's rate beside that of an administrator who writes the data alone.
 */
function ratesOf(name: string, width: number, { latchkey, bare, plain }: Rounds): readonly Row[] {
  const rate = (rounds: readonly BareRound[]): number =>
    (width * 1000) / median(rounds.map(({ ms }) => ms));
  const costs = costsOf(latchkey, width);
  const bareCosts = costsOf(bare, width);
  const plainCosts = costsOf(plain, width);
  return [
    row(`${name}: bare client`, [rate(bare), "targets/s"], {
      ceiling: rate(plain),
      ratioGoal: ">= 0.90",
      note: byRound(bare, plain),
    }),
    row(name, [rate(latchkey), "targets/s"], {
      ceiling: rate(bare),
      ratioGoal: ">= 0.90",
      ...spent(latchkey, width),
      note: `${byRound(latchkey, bare)}; ${spreadOf(latchkey)}; first after ${firstOf(latchkey)} (bare ${firstOf(bare)})`,
    }),
    row(`${name}: processor time`, [sumOf(costs), "ms/target"], {
      ceiling: sumOf(bareCosts),
      note: Object.keys(costs)
        .map(
          (process) =>
            `${process} ${ms(costs[process])} (bare ${ms(bareCosts[process])}, plain ${ms(plainCosts[process])})`,
        )
        .join(", "),
    }),
  ];
}

/** How many times as fast each round is as the round that is compared. */
function byRound(measured: readonly BareRound[], ceiling: readonly BareRound[]): string {
  const ratios = measured.map(({ ms: took }, at) => (ceiling[at]?.ms ?? Number.NaN) / took);
  return `by round ${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}`;
}

function unchangedRow(width: number, rounds: readonly Round[]): Row {
  const writes = Math.max(...rounds.map(({ usage }) => writesBesideStatus(usage)));
  return row(`no change ${width}`, [writes, "writes"], {
    goal: "0",
    ...spent(rounds, width),
    note: `status after ${median(rounds.map((round) => round.ms)).toFixed(0)} ms`,
  });
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
  const all = rounds.map((round) => round.ms);
  return `${rounds.length} rounds, ${Math.min(...all).toFixed(0)} to ${Math.max(...all).toFixed(0)} ms`;
}

function spent(
  rounds: readonly Round[],
  width: number,
): { readonly usage: Usage; readonly writesPerTarget: number } {
  const usages = rounds.map(({ usage }) => usage);
  const sum = (of: (usage: Usage) => number): number =>
    usages.reduce((total, usage) => total + of(usage), 0);
  const methods = [...new Set(usages.flatMap(({ requests }) => Object.keys(requests)))];
  const requests = Object.fromEntries(
    methods.map((method) => [method, sum((usage) => usage.requests[method] ?? 0)]),
  );
  const usage = {
    requests,
    cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds) / rounds.length,
    residentMB: Math.max(...usages.map(({ residentMB }) => residentMB)),
    blockMs: Math.max(...usages.map(({ blockMs }) => blockMs)),
  };
  const writes = (requests.POST ?? 0) + (requests.PUT ?? 0);
  return { usage, writesPerTarget: writes / (width * rounds.length) };
}
