import { cpus, release } from "node:os";
import { performance } from "node:perf_hooks";
import { post } from "../support/bare-client.ts";
import { home, namespaceRequest } from "../support/bench-objects.ts";
import { runMeasured } from "../support/measured-run.ts";
import { admission } from "./admission.ts";
import { type Bench, seedNamespaces, startBenchFixture } from "./bench-fixture.ts";
import { bigObjects } from "./big-objects.ts";
import { warmBareClient } from "./ceiling.ts";
import { clusters } from "./clusters.ts";
import { clientStart } from "./client-start.ts";
import { copiesMemory } from "./copies-memory.ts";
import { direct } from "./direct.ts";
import { fanOut } from "./fan-out.ts";
import { fronts } from "./fronts.ts";
import { gateway } from "./gateway.ts";
import { keys } from "./keys.ts";
import { mint } from "./mint.ts";
import { newcomer } from "./newcomer.ts";
import { latency } from "./repair.ts";
import { replication } from "./replicators.ts";
import { ratioOf, type Row, table } from "./report.ts";
import { resident } from "./resident.ts";
import { reviews } from "./reviews.ts";
import { revocation } from "./revocation.ts";
import { scrape } from "./scrape.ts";
import { sizeNamed } from "./sizes.ts";
import { start } from "./start.ts";

/** The parts that can be run separately, in this order. */
const parts: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  "fan-out": (bench) => fanOut(bench, "copies"),
  placeholders: (bench) => fanOut(bench, "placeholders"),
  followed: (bench) => fanOut(bench, "followed"),
  latency,
  newcomer,
  mint,
  start,
  memory: copiesMemory,
  resident,
  metrics: scrape,
  keys,
  reviews,
  sizes: bigObjects,
  gateway,
  fronts,
  direct,
  clusters,
  replicators: replication,
  cli: clientStart,
  // Its keys and tokens stay.
  admission,
  // Its kube-apiserver keeps running.
  revocation,
};

function partsNamed(text: string | undefined): readonly string[] {
  const named = text ? text.split(",") : Object.keys(parts);
  const unknownPart = named.find((name) => parts[name] === undefined);
  if (unknownPart !== undefined)
    throw new Error(`PARTS names "${unknownPart}": there are ${Object.keys(parts).join(", ")}`);
  return named;
}

const began = performance.now();
const size = sizeNamed(process.env.SIZE);
const names = partsNamed(process.env.PARTS);

await runMeasured({
  unit: "s",
  start: (say) => startBenchFixture(say, { hasKubelet: names.includes("gateway") }),
  async measure(fixture) {
    const rows: Row[] = [];
    const report: Bench["report"] = (some) => {
      rows.push(...some);
      process.stdout.write(`${table(some)}\n`);
    };
    await fixture.admin.send(namespaceRequest(home));
    // Pods need it, and no kube-controller-manager makes it.
    const account = { metadata: { name: "default" } };
    await fixture.admin.send(post(`/api/v1/namespaces/${home}/serviceaccounts`, account));
    for (const { targets } of size.fanOuts) await seedNamespaces(fixture, `of-${targets}`, targets);
    await warmBareClient(fixture);
    for (const name of names) await parts[name]?.({ fixture, size, report });
    return {
      size: size.name,
      cpus: cpus().length,
      node: process.version,
      kernel: release(),
      seconds: (performance.now() - began) / 1000,
      rows: rows.map((one) => ({ ...one, ratio: ratioOf(one) })),
    };
  },
  summary({ seconds, rows }) {
    const machine = `${cpus().length} CPUs (${cpus()[0]?.model ?? "?"}), node ${process.version}`;
    return `${size.name}, ${machine}, ${seconds.toFixed(0)} s\n\n${table(rows)}`;
  },
});
