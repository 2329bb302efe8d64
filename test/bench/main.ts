import { writeFileSync } from "node:fs";
import { cpus, release } from "node:os";
import { performance } from "node:perf_hooks";
import { accessRows } from "./access.ts";
import { bigObjectRows } from "./big-objects.ts";
import { tokenCeiling, warmBareClient } from "./ceiling.ts";
import { expiryRows, seedKeys, takeInKeys } from "./expiry.ts";
import { keyStatusCeiling, togetherRows } from "./expiry-together.ts";
import { fanOutRows } from "./fan-out.ts";
import { idleRows } from "./idle.ts";
import { fillMany, seedMany, startOverMany } from "./many.ts";
import { mintRounds } from "./mint.ts";
import { newcomerRows } from "./newcomer.ts";
import {
  home,
  namespaceRequest,
  sharedSecretPath,
  sharedSecretRequest,
} from "../support/bench-objects.ts";
import { repairRows } from "./repair.ts";
import { ratioOf, type Row, table } from "./report.ts";
import { reviewRows, seedScopedKeys } from "./reviews.ts";
import { type Size, sizeNamed } from "./sizes.ts";
import { type Running, setStage, type Stage } from "./stage.ts";

const began = performance.now();

function say(line: string): void {
  process.stdout.write(
    `${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${line}\n`,
  );
}

const namesOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** What a part measures with. */
interface Bench {
  readonly stage: Stage;
  readonly size: Size;
  /** Hands rows over as soon as they are there. */
  readonly tell: (rows: readonly Row[]) => void;
}

async function fanOut({ stage, size, tell }: Bench): Promise<void> {
  const running = await warmController(stage);
  for (const { targets, rounds } of size.fanOuts) {
    say(`fan-outs to ${targets} namespaces`);
    tell(
      await fanOutRows(stage, running, {
        project: `of-${targets}`,
        namespaces: namesOf(`of-${targets}`, targets),
        rounds,
      }),
    );
  }
  await running.stop();
}

async function latency({ stage, size, tell }: Bench): Promise<void> {
  const running = await warmController(stage);
  say("repairs");
  const targets = size.fanOuts[0]?.targets ?? 0;
  tell(
    await repairRows(stage, running, {
      project: `of-${targets}`,
      namespaces: namesOf(`of-${targets}`, targets),
      samples: size.samples,
    }),
  );
  say("grants and revocations");
  tell(await accessRows(stage, running, size.samples));
  await running.stop();
}

async function newcomer({ stage, size, tell }: Bench): Promise<void> {
  await seedNamespaces(stage, "wide", size.newcomers.beside);
  const running = await warmController(stage);
  tell(await newcomerRows(stage, running, { project: "wide", ...size.newcomers }));
  await running.stop();
}

async function mint({ stage, size, tell }: Bench): Promise<void> {
  say("minting");
  const before = await tokenCeiling(stage);
  const running = await warmController(stage);
  const minted = await mintRounds(stage, running, { tokens: size.tokens, samples: size.samples });
  await running.stop();
  tell(minted((before + (await tokenCeiling(stage))) / 2));
}

async function keys({ stage, size, tell }: Bench): Promise<void> {
  const before = await keyStatusCeiling(stage, size.keys);
  await seedKeys(stage, size.keys);
  const { rows, running } = await takeInKeys(stage, size.keys);
  tell(rows);
  tell(await expiryRows(stage, running, size.keys));
  tell(await togetherRows(stage, running, { size: size.keys, ceiling: before }));
  await running.stop();
}

async function reviews({ stage, size, tell }: Bench): Promise<void> {
  await seedScopedKeys(stage, size.keys);
  const webhook = await stage.startWebhook();
  tell(await reviewRows(stage, webhook, size.keys));
  await webhook.stop();
}

async function start({ stage, size, tell }: Bench): Promise<void> {
  await seedMany(stage, size.many);
  say("first fill");
  tell(await fillMany(stage, size.many));
  say("start over all of it");
  const { rows, running } = await startOverMany(stage, size.many);
  tell(rows);
  say(`idle for ${size.idleSeconds} s`);
  tell(await idleRows(stage, running, size.idleSeconds));
  await running.stop();
}

async function sizes({ stage, size, tell }: Bench): Promise<void> {
  await bigObjectRows(stage, size.big, tell);
}

/** What can be measured apart from the rest, in this order. */
const parts: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  "fan-out": fanOut,
  latency,
  newcomer,
  mint,
  start,
  keys,
  reviews,
  sizes,
};

function partsNamed(text: string | undefined): readonly string[] {
  const named = text ? text.split(",") : Object.keys(parts);
  const stranger = named.find((name) => parts[name] === undefined);
  if (stranger !== undefined)
    throw new Error(`PARTS names "${stranger}": there are ${Object.keys(parts).join(", ")}`);
  return named;
}

/** A controller that has sent its first 1,000 requests. */
async function warmController(stage: Stage): Promise<Running> {
  const running = await stage.start();
  await running.ready();
  await running.readings.settled(300_000);
  await stage.admin.send(sharedSecretRequest({ name: "warm-up", project: "of-*" }, 1));
  await running.readings.settled();
  await stage.admin.send({ method: "DELETE", path: sharedSecretPath(home, "warm-up") });
  await running.readings.settled();
  return running;
}

async function seedNamespaces({ admin }: Stage, project: string, count: number): Promise<void> {
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
  const tell: Bench["tell"] = (some) => {
    rows.push(...some);
    process.stdout.write(`${table(some)}\n`);
  };
  const stage = await setStage(say);
  try {
    await stage.admin.send(namespaceRequest(home));
    for (const { targets } of size.fanOuts) await seedNamespaces(stage, `of-${targets}`, targets);
    await warmBareClient(stage);
    for (const name of names) await parts[name]?.({ stage, size, tell });
  } finally {
    await stage.close();
  }
  const seconds = (performance.now() - began) / 1000;
  process.stdout.write(
    `\n${size.name}, ${cpus().length} CPUs (${cpus()[0]?.model ?? "?"}), node ${process.version}, ${seconds.toFixed(0)} s\n\n${table(rows)}\n`,
  );
  if (process.env.JSON) {
    const told = rows.map((row) => ({ ...row, ratio: ratioOf(row) }));
    writeFileSync(
      process.env.JSON,
      `${JSON.stringify({ size: size.name, cpus: cpus().length, node: process.version, kernel: release(), seconds, rows: told }, null, 2)}\n`,
    );
  }
}

await main();
