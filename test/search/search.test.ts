import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAtLength } from "../support/property-runs.ts";
import { keyOfState } from "./canonical.ts";
import { Machine } from "./machine.ts";
import { judges, replay, search, violationText } from "./search.ts";
import type { SearchWorld } from "./world.ts";
import { worlds } from "./worlds.ts";

function worldNamed(name: string): SearchWorld {
  const found = worlds.find((world) => world.name === name);
  if (found === undefined) throw new Error(`no world ${name}`);
  return found;
}

/** A fault where `make verify` runs these. */
const one = isAtLength ? 1 : 0;

/**
 * Worlds and how many faults happen: every second, and all in `make verify`. `make search` searches
 * them, and all others, further.
 */
const small: readonly (readonly [string, number])[] = [
  ["consent of a namespace", 0],
  ["a source that is recreated", 1],
  ["a pause of a source", one],
  ["a pause of a copy", one],
  ["a placeholder", 0],
  ["a placeholder between two sources", 0],
  ["a source that moves to another Secret", one],
  ["edited marks of a copy", one],
  ...(isAtLength ? ([["consents for a connected cluster", 0]] as const) : []),
  ["a followed Secret", one],
  ["both consents of a followed Secret", one],
  ["a follower that changes", 0],
  ["a project and readers of a followed Secret", 0],
  ["a placeholder of a followed Secret", 0],
  ["a followed name that others sync to", 0],
  ["a followed Secret that becomes one of Latchkey", 0],
  ["large data of a followed Secret", one],
  ["a failover with a followed Secret", 0],
  ["a restore from before an offer", 0],
  ["Secrets of others in an outbox", 0],
  ["a cluster whose agent is away", 0],
  ["consents and the agent of a cluster", 0],
  ["Secrets of others in the cluster of an agent", 0],
  ["a subject that changes its rule", 1],
  ["a deletion with grants", 1],
  ["a key", 0],
  ["a failover", one],
];

describe("every order of a small world", () => {
  const asked = small.filter((_world, index) => isAtLength || index % 2 === 0);
  it.each(asked)("%s, with %i faults", async (name, mostFaults) => {
    const world = { ...worldNamed(name), userActions: 1, mostFaults };
    const { violation, open } = await search(world, { mostStates: 20_000, sampledBy: 200 });
    expect(violation && violationText(violation)).toBeUndefined();
    expect(open).toBe(0);
  });
});

describe("a search without a reduction", () => {
  it.each([
    "a source that moves to another Secret",
    "access rules",
    "a refresh",
    "a followed Secret",
  ])("ends at the same states at rest: %s", async (name) => {
    const world = { ...worldNamed(name), userActions: 1, mostFaults: 0 };
    const bounds = { mostStates: 20_000, sampledBy: 1_000_000 };
    const { atRest, open } = await search(world, bounds);
    const options = { deliversEchoes: true, isTimeQuiet: true };
    for (const without of ["deliversEchoes", "isTimeQuiet"]) {
      const full = await search(world, bounds, { ...options, [without]: false });
      expect([...full.atRest].filter((content) => !atRest.has(content))).toEqual([]);
      expect(full.atRest.size).toBe(atRest.size);
      expect([full.open, open]).toEqual([0, 0]);
    }
  });
});

it("a state is the same whichever of two objects was written first", async () => {
  const world = worldNamed("a pause of a copy");
  const machine = new Machine(world, judges);
  const after = async (...actions: readonly string[]) => {
    let state = await machine.begin();
    for (const action of actions) state = (await machine.step(state, `user ${action}`)).state;
    return keyOfState(state, world);
  };
  const both = await after("pause the copy", "leave the project");
  expect(await after("leave the project", "pause the copy")).toBe(both);
  expect(await after("leave the project", "delete")).not.toBe(both);
});

interface Trace {
  readonly world: string;
  readonly why: string;
  readonly actions: readonly string[];
}

const traces: readonly Trace[] = JSON.parse(
  readFileSync(join(import.meta.dirname, "traces.json"), "utf8"),
);

describe("a trace that once ended wrong", () => {
  it.each(traces)("$world: $why", async ({ world, actions }) => {
    expect(await replay(worldNamed(world), actions)).toEqual([]);
  });
});
