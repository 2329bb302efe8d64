import { writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { performance } from "node:perf_hooks";
import { accessRows } from "./access.ts";
import { admissionRows } from "./admission.ts";
import { bigObjectRows } from "./big-objects.ts";
import { tokenCeiling, warmBareClient } from "./ceiling.ts";
import { clientStartRows } from "./client-start.ts";
import { expiryRows, seedKeys, takeInKeys } from "./expiry.ts";
import { keyStatusCeiling, togetherRows } from "./expiry-together.ts";
import { fanOutRows } from "./fan-out.ts";
import { directRows } from "./direct.ts";
import { gatewayRows } from "./gateway.ts";
import { copiesMemoryRows } from "./copies-memory.ts";
import { idleRows } from "./idle.ts";
import { fillMany, seedMany, startOverMany } from "./many.ts";
import { mintRounds } from "./mint.ts";
import { newcomerRows } from "./newcomer.ts";
import {
  home,
  namespaceRequest,
  sharedSecretPath,
  sharedSecretRequest,
  type TargetForm,
} from "../support/bench-objects.ts";
import { repairRows } from "./repair.ts";
import { ratioOf, type Row, table } from "./report.ts";
import { replicatorRows } from "./replicators.ts";
import { reviewRows, seedScopedKeys } from "./reviews.ts";
import { type Size, sizeNamed } from "./sizes.ts";
import { type Running, startBenchFixture, type BenchFixture } from "./bench-fixture.ts";

const began = performance.now();

function say(line: string): void {
  process.stdout.write(
    `${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${line}\n`,
  );
}

const namesOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** What a part of the benchmark uses. */
interface Bench {
  readonly fixture: BenchFixture;
  readonly size: Size;
  /** Reports rows as soon as they are measured. */
  readonly report: (rows: readonly Row[]) => void;
}

async function fanOut({ fixture, size, report }: Bench, form: TargetForm): Promise<void> {
  const running = await warmController(fixture);
  for (const { targets, rounds } of size.fanOuts) {
    say(`${form} in ${targets} namespaces`);
    report(
      await fanOutRows(fixture, running, {
        project: `of-${targets}`,
        namespaces: namesOf(`of-${targets}`, targets),
        rounds,
        form,
      }),
    );
  }
  await running.stop();
}

async function latency({ fixture, size, report }: Bench): Promise<void> {
  const running = await warmController(fixture);
  say("repairs");
  const targets = size.fanOuts[0]?.targets ?? 0;
  report(
    await repairRows(fixture, running, {
      project: `of-${targets}`,
      namespaces: namesOf(`of-${targets}`, targets),
      samples: size.samples,
    }),
  );
  say("grants and revocations");
  report(await accessRows(fixture, running, size.samples));
  await running.stop();
}

async function newcomer({ fixture, size, report }: Bench): Promise<void> {
  await seedNamespaces(fixture, "wide", size.newcomers.beside);
  const running = await warmController(fixture);
  report(await newcomerRows(fixture, running, { project: "wide", ...size.newcomers }));
  await running.stop();
}

async function mint({ fixture, size, report }: Bench): Promise<void> {
  say("minting");
  const before = await tokenCeiling(fixture);
  const running = await warmController(fixture);
  const minted = await mintRounds(fixture, running, { tokens: size.tokens, samples: size.samples });
  await running.stop();
  report(minted((before + (await tokenCeiling(fixture))) / 2));
}

async function admission({ fixture, size, report }: Bench): Promise<void> {
  await admissionRows(fixture, size.admission, report);
}

async function keys({ fixture, size, report }: Bench): Promise<void> {
  const before = await keyStatusCeiling(fixture, size.keys);
  await seedKeys(fixture, size.keys);
  const { rows, running } = await takeInKeys(fixture, size.keys);
  report(rows);
  report(await expiryRows(fixture, running, size.keys));
  report(await togetherRows(fixture, running, { size: size.keys, ceiling: before }));
  await running.stop();
}

async function reviews({ fixture, size, report }: Bench): Promise<void> {
  await seedScopedKeys(fixture, size.keys);
  const webhook = await fixture.startWebhook();
  report(await reviewRows(fixture, webhook, size.keys));
  await webhook.stop();
}

async function gateway({ fixture, size, report }: Bench): Promise<void> {
  await gatewayRows(fixture, size.gateway, report);
}

async function direct({ fixture, size, report }: Bench): Promise<void> {
  await directRows(fixture, size.gateway, report);
}

async function start({ fixture, size, report }: Bench): Promise<void> {
  await seedMany(fixture, size.many);
  say("first fill");
  report(await fillMany(fixture, size.many));
  say("start over all of it");
  const { rows, running } = await startOverMany(fixture, size.many);
  report(rows);
  say(`idle for ${size.idleSeconds} s`);
  report(await idleRows(fixture, running, size.idleSeconds));
  await running.stop();
}

function memory({ size, report }: Bench): Promise<void> {
  report(copiesMemoryRows(size.memory));
  return Promise.resolve();
}

async function sizes({ fixture, size, report }: Bench): Promise<void> {
  await bigObjectRows(fixture, size.big, report);
}

async function replicators({ fixture, size, report }: Bench): Promise<void> {
  const [project, targets] = ["of-200", 200];
  const repairs = Math.min(20, size.samples);
  await replicatorRows(
    fixture,
    { project, namespaces: namesOf(project, targets), repairs },
    report,
  );
}

async function cli({ fixture, size, report }: Bench): Promise<void> {
  report(await clientStartRows(fixture, size.samples));
}

/** The parts that can be run separately, in this order. */
const parts: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  "fan-out": (bench) => fanOut(bench, "copies"),
  placeholders: (bench) => fanOut(bench, "placeholders"),
  latency,
  newcomer,
  mint,
  start,
  memory,
  keys,
  reviews,
  sizes,
  gateway,
  direct,
  replicators,
  cli,
  // Its keys and tokens stay.
  admission,
};

function partsNamed(text: string | undefined): readonly string[] {
  const named = text ? text.split(",") : Object.keys(parts);
  const unknownPart = named.find((name) => parts[name] === undefined);
  if (unknownPart !== undefined)
    throw new Error(`PARTS names "${unknownPart}": there are ${Object.keys(parts).join(", ")}`);
  return named;
}

/** A controller that has sent its first 1,000 requests. */
async function warmController(fixture: BenchFixture): Promise<Running> {
  const running = await fixture.start();
  await running.ready();
  await running.readings.settled(300_000);
  await fixture.admin.send(sharedSecretRequest({ name: "warm-up", project: "of-*" }, 1));
  await running.readings.settled();
  await fixture.admin.send({ method: "DELETE", path: sharedSecretPath(home, "warm-up") });
  await running.readings.settled();
  return running;
}

async function seedNamespaces(
  { admin }: BenchFixture,
  project: string,
  count: number,
): Promise<void> {
  const names = namesOf(project, count);
  const ms = await admin.pour(names.length, (index) =>
    namespaceRequest(names[index] ?? "", project),
  );
  say(`made ${names.length} namespaces, ${((names.length * 1000) / ms).toFixed(0)} a second`);
}

async function main(): Promise<void> {
  const size = sizeNamed(process.env.SIZE);
  const names = partsNamed(process.env.PARTS);
  const rows: Row[] = [];
  const report: Bench["report"] = (some) => {
    rows.push(...some);
    process.stdout.write(`${table(some)}\n`);
  };
  const fixture = await startBenchFixture(say, { hasKubelet: names.includes("gateway") });
  try {
    await fixture.admin.send(namespaceRequest(home));
    for (const { targets } of size.fanOuts) await seedNamespaces(fixture, `of-${targets}`, targets);
    await warmBareClient(fixture);
    for (const name of names) await parts[name]?.({ fixture, size, report });
  } finally {
    await fixture.close();
  }
  const seconds = (performance.now() - began) / 1000;
  process.stdout.write(
    `\n${size.name}, ${cpus().length} CPUs (${cpus()[0]?.model ?? "?"}), node ${process.version}, ${seconds.toFixed(0)} s\n\n${table(rows)}\n`,
  );
  if (process.env.JSON) {
    const withRatios = rows.map((row) => ({ ...row, ratio: ratioOf(row) }));
    writeFileSync(
      process.env.JSON,
      `${JSON.stringify({ size: size.name, cpus: cpus().length, node: process.version, kernel: release(), seconds, rows: withRatios }, null, 2)}\n`,
    );
  }
}

await main();
