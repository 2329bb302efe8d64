import { parseArgs } from "node:util";
import { Worker } from "./worker.ts";
import { warmUp } from "./in-process-play.ts";
import { courseKinds, takeWalks, type Walked } from "./walks.ts";
import { startProxiedCluster } from "../support/proxied-cluster.ts";

const seed = Number(process.env.SEED || Date.now() % 1_000_000);
const walks = Number(process.env.WALKS || 300);
const { values } = parseArgs({
  options: {
    kind: { type: "string", default: "" },
    lanes: { type: "string", default: "8" },
    shrinks: { type: "string", default: "30" },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function countsText(walked: readonly Walked[]): string {
  const sums = new Map<string, number>();
  for (const { counts } of walked)
    for (const [what, number] of Object.entries(counts))
      sums.set(what, (sums.get(what) ?? 0) + number);
  const { taken = 0, refused = 0, wrong, keeping, ...sights } = Object.fromEntries(sums);
  const steps = `${walked.length} walks of ${taken} steps, of which ${refused} were refused`;
  const found =
    wrong === undefined
      ? `Secrets at rest: ${Object.entries(sights)
          .map(([what, number]) => `${number} ${what}`)
          .join(", ")}`
      : `not ready in ${wrong} rests, copies were kept in ${keeping}`;
  return `${steps}; ${found}`;
}

async function main(): Promise<number> {
  const begun = performance.now();
  const seconds = () => `${Math.round((performance.now() - begun) / 1000)} s`;
  const cluster = await startProxiedCluster(say);
  try {
    const workers = await Promise.all(
      Array.from({ length: Math.min(Number(values.lanes), walks) }, (_, index) =>
        Worker.open(cluster, `walk${index}`),
      ),
    );
    await Promise.all(workers.map(warmUp));
    say(`${walks} walks, SEED=${seed}, ${workers.length} at a time, after ${seconds()}`);
    const walked: Walked[] = [];
    const onWalked = (one: Walked) => {
      walked.push(one);
      if (one.problems.length > 0)
        say(`FAILED SEED=${one.seed} WALKS=1 ${one.problems.join("\n  ")}`);
      if (walked.length % 25 === 0) say(`${walked.length} of ${walks} walks after ${seconds()}`);
    };
    const kinds = courseKinds.filter((kind) => kind.includes(values.kind));
    await takeWalks(workers, { seed, walks, kinds, shrinks: Number(values.shrinks), onWalked });
    for (const kind of kinds)
      say(`${kind}: ${countsText(walked.filter((one) => one.kind === kind))}`);
    const failed = walked.filter(({ problems }) => problems.length > 0);
    say(
      `${walked.length} walks (SEED=${seed}) in ${seconds()}: ${failed.length} failed${failed.map((one) => ` SEED=${one.seed}`).join()}`,
    );
    return failed.length === 0 ? 0 : 1;
  } finally {
    await cluster.stop();
  }
}

process.exit(await main());
