import { parseArgs } from "node:util";
import { runProgram, say } from "./main-program.ts";
import { courseKinds, takeWalks, type Walked } from "./walks.ts";

const seed = Number(process.env.SEED || Date.now() % 1_000_000);
const walks = Number(process.env.WALKS || 300);
const { values } = parseArgs({
  options: {
    kind: { type: "string", default: "" },
    lanes: { type: "string", default: "8" },
    shrinks: { type: "string", default: "30" },
  },
});

/** The number of steps, and what was seen whenever the controller was idle. */
function countsText(walked: readonly Walked[]): string {
  const sums = new Map<string, number>();
  for (const [what, count] of walked.flatMap(({ counts }) => [...counts]))
    sums.set(what, (sums.get(what) ?? 0) + count);
  const { taken = 0, refused = 0, ...sights } = Object.fromEntries(sums);
  const seen = Object.entries(sights).map(([what, count]) => `${count} ${what}`);
  return `${walked.length} walks of ${taken} steps, of which ${refused} were refused; at rest: ${seen.join(", ") || "nothing to report"}`;
}

const lanes = { name: "walk", count: Math.min(Number(values.lanes), walks) };
await runProgram(lanes, async ({ workers, seconds }) => {
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
});
