import { parseArgs } from "node:util";
import { faults, type InProcessFault } from "./faults.ts";
import { cellName, cellsOf, learn, type Played, playAll } from "./matrix.ts";
import { play } from "./in-process-play.ts";
import { runProgram, say } from "./main-program.ts";
import { scenarios } from "./scenarios.ts";
import { shuffled } from "../support/seeded-random.ts";

const seed = Number(process.env.SEED || Date.now() % 1_000_000);
const { values } = parseArgs({
  options: {
    scenario: { type: "string", default: "" },
    fault: { type: "string", default: "" },
    moment: { type: "string", default: "" },
    sample: { type: "string" },
    times: { type: "string", default: "1" },
    trace: { type: "boolean", default: false },
    lanes: { type: "string", default: "10" },
  },
});

const lanes = { name: "worker", count: Number(values.lanes) };
await runProgram(lanes, async ({ workers, seconds }) => {
  const chosen = scenarios.filter(({ name }) => name.includes(values.scenario));
  const learned = await learn(workers, chosen, { seed, lessons: 3, play });
  for (const [{ name }, { calls, reads, changes }] of learned)
    say(`${name}: ${calls} writes, ${reads} reads of Secrets, ${changes} changes`);
  const matching = cellsOf(learned, faults, seed).filter(
    ({ fault, moment }) =>
      fault.name.includes(values.fault) &&
      `${moment.at} ${moment.number}`.startsWith(values.moment),
  );
  const cells = shuffled(
    Array.from({ length: Number(values.times) }, () => matching).flat(),
    seed,
  ).slice(0, values.sample === undefined ? Infinity : Number(values.sample));
  const points = [...learned.values()].reduce(
    (sum, { calls, reads, changes }) => sum + calls + reads + changes,
    0,
  );
  say(
    `${chosen.length} scenarios x ${faults.length} faults x ${points} moments: ${cells.length} runs, SEED=${seed}, ${workers.length} at a time, after ${seconds()}`,
  );
  const played: Played<InProcessFault>[] = [];
  const onPlayed = (one: Played<InProcessFault>) => {
    played.push(one);
    if (one.problems.length > 0)
      say(`FAILED ${cellName(one)}\n  ${one.problems.join("\n").replaceAll("\n", "\n  ")}`);
    if (one.problems.length > 0 && values.trace) say(`  ${one.trace.join("\n  ")}`);
    if (played.length % 100 === 0)
      say(`${played.length} of ${cells.length} runs after ${seconds()}`);
  };
  await playAll(workers, cells, { learned, play, onPlayed });
  const failed = played.filter(({ problems }) => problems.length > 0);
  say(
    `${played.length} runs with 1 seed (SEED=${seed}) in ${seconds()}: ${failed.length} failed, ${played.filter(({ injectedAt }) => injectedAt === undefined).length} ended before the fault's moment`,
  );
  for (const one of failed) say(`  ${cellName(one)}`);
  return failed.length === 0 ? 0 : 1;
});
