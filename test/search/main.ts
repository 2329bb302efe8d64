/*
 * Searches all worlds, breadth first, up to STATES states; WORLD selects worlds by a part of their
 * name. Prints a line for each world, and the shortest trace to each violation.
 */
import type { Searched } from "./explorer.ts";
import { search, violationText } from "./search.ts";
import { worlds } from "./worlds.ts";

const mostStates = Number(process.env["STATES"] || 1_000_000);
const part = process.env["WORLD"] || "";
const sampledBy = 100;

const exact = worlds.filter(({ name }) => name === part);
const selected = exact.length > 0 ? exact : worlds.filter(({ name }) => name.includes(part));
if (selected.length === 0) throw new Error(`WORLD: no world has ${part} in its name`);
const searched: Searched[] = [];
let left = mostStates;
for (const [index, world] of selected.entries()) {
  // What a small world leaves over is for those after it.
  const result = await search(world, {
    mostStates: Math.floor(left / (selected.length - index)),
    sampledBy,
  });
  left -= result.states;
  searched.push(result);
  const { states, steps, rests, open, violation } = result;
  const end =
    violation !== undefined ? "VIOLATION" : open === 0 ? "complete" : `${open} states open`;
  process.stdout.write(
    `${world.name}: ${states} states, ${steps} steps, ${rests} at rest, ${end}\n`,
  );
  if (violation !== undefined) process.stdout.write(`${violationText(violation)}\n`);
}
const sum = searched.reduce((total, { states }) => total + states, 0);
const failed = searched.filter(({ violation }) => violation !== undefined).length;
const complete = searched.filter(({ open }) => open === 0).length;
process.stdout.write(
  `${sum} states of ${searched.length} worlds, ${complete} complete: ${failed} failed\n`,
);
process.exitCode = failed === 0 ? 0 : 1;
