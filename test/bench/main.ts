import { writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { performance } from "node:perf_hooks";
import { accessRows } from "./access.ts";
import { type Ceilings, meanCeilings, measureCeilings } from "./ceiling.ts";
import { expiryRows } from "./expiry.ts";
import { fanOutRounds, fanOutRows } from "./fan-out.ts";
import { idleRows } from "./idle.ts";
import { fillMany, seedMany, startOverMany } from "./many.ts";
import { mintRounds } from "./mint.ts";
import { newcomerRows } from "./newcomer.ts";
import { home, namespaceRequest } from "./objects.ts";
import { repairRows } from "./repair.ts";
import { ratioOf, type Row, table } from "./report.ts";
import { type Size, sizeNamed, wideTargets } from "./sizes.ts";
import { setStage, type Stage } from "./stage.ts";

const began = performance.now();

function say(line: string): void {
  process.stdout.write(`${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${line}\n`);
}

const namesOf = (prefix: string, count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
const namespaces = { 200: namesOf("few", 200), 1000: namesOf("lot", 1000) };

async function seedNamespaces({ admin }: Stage, parts: ReadonlySet<string>): Promise<void> {
  const wide = parts.has("latencies") ? namesOf("wide", wideTargets) : [];
  const inProject = (project: string, names: readonly string[]) => names.map((name) => namespaceRequest(name, project));
  const all = [namespaceRequest(home), ...inProject("few", namespaces[200]), ...inProject("lot", namespaces[1000]), ...inProject("wide", wide)];
  say(`making ${all.length} namespaces`);
  const ms = await admin.pour(all.length, (index) => all[index] ?? namespaceRequest(home));
  say(`made them, ${((all.length * 1000) / ms).toFixed(0)} a second`);
}

const allParts = ["rates", "latencies", "many"];

function partsNamed(text: string | undefined): ReadonlySet<string> {
  const parts = text ? text.split(",") : allParts;
  const stranger = parts.find((part) => !allParts.includes(part));
  if (stranger !== undefined) throw new Error(`PARTS names "${stranger}": there are ${allParts.join(", ")}`);
  return new Set(parts);
}

/** Hands rows over as soon as they are there. */
type Tell = (rows: readonly Row[]) => void;

/** Everything that has a ceiling, between the two measurements of it. */
async function measureRates(stage: Stage, size: Size, tell: Tell): Promise<Ceilings> {
  const before = await measureCeilings(stage, namespaces);
  const running = await stage.start();
  await running.ready();
  say("warming the controller up");
  await fanOutRounds(stage, running, { project: "lot", width: 1000, rounds: 1 });
  say("fan-outs to 200 and to 1,000 namespaces");
  const few = await fanOutRounds(stage, running, { project: "few", width: 200, rounds: size.rounds[200] });
  const lot = await fanOutRounds(stage, running, { project: "lot", width: 1000, rounds: size.rounds[1000] });
  say("minting");
  const minted = await mintRounds(stage, running, { tokens: size.tokens, samples: size.samples });
  await running.stop();
  const ceilings = meanCeilings(before, await measureCeilings(stage, namespaces));
  tell([...fanOutRows(200, few, ceilings), ...fanOutRows(1000, lot, ceilings), ...minted(ceilings.tokens)]);
  return ceilings;
}

async function measureLatencies(stage: Stage, size: Size, tell: Tell): Promise<void> {
  const running = await stage.start();
  await running.ready();
  await running.readings.settled();
  say("repairs");
  tell(await repairRows(stage, running, { project: "few", namespaces: namespaces[200], samples: size.samples }));
  say("grants and revocations");
  tell(await accessRows(stage, running, size.samples));
  tell(await newcomerRows(stage, running, { project: "wide", newcomers: size.newcomers }));
  await running.stop();
}

async function measureMany(stage: Stage, size: Size, { tell, ceilings }: { readonly tell: Tell; readonly ceilings: Ceilings | undefined }): Promise<void> {
  await seedMany(stage, size.many);
  say("first fill");
  tell(await fillMany(stage, size.many, ceilings?.secrets[1000].create));
  say("start over all of it");
  const { rows, running } = await startOverMany(stage, size.many);
  tell(rows);
  say(`idle for ${size.idleSeconds} s`);
  tell(await idleRows(stage, running, size.idleSeconds));
  tell(await expiryRows(stage, running, size.keys));
  await running.stop();
}

async function main(): Promise<void> {
  const size = sizeNamed(process.env.SIZE);
  const parts = partsNamed(process.env.PARTS);
  const rows: Row[] = [];
  const tell: Tell = (some) => {
    rows.push(...some);
    process.stdout.write(`${table(some)}\n`);
  };
  const stage = await setStage(say);
  try {
    await seedNamespaces(stage, parts);
    const ceilings = parts.has("rates") ? await measureRates(stage, size, tell) : undefined;
    if (parts.has("latencies")) await measureLatencies(stage, size, tell);
    if (parts.has("many")) await measureMany(stage, size, { tell, ceilings });
  } finally {
    await stage.close();
  }
  const seconds = (performance.now() - began) / 1000;
  process.stdout.write(`\n${size.name}, ${cpus().length} CPUs (${cpus()[0]?.model ?? "?"}), node ${process.version}, ${seconds.toFixed(0)} s\n\n${table(rows)}\n`);
  if (process.env.JSON) {
    const told = rows.map((row) => ({ ...row, ratio: ratioOf(row) }));
    writeFileSync(process.env.JSON, `${JSON.stringify({ size: size.name, cpus: cpus().length, node: process.version, kernel: release(), seconds, rows: told }, null, 2)}\n`);
  }
}

await main();
