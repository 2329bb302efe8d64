import { explore, type Bounds, type Searched } from "./explorer.ts";
import { Machine, type MachineOptions } from "./machine.ts";
import { agentSpecification, connectedProblems } from "./connected.ts";
import { clusterProblems } from "./outbox-rest.ts";
import { problemsAtRest } from "../specification/rest.ts";
import { specification } from "./specification.ts";
import type { Clusters } from "./state.ts";
import type { SearchWorld } from "./world.ts";

/** What must hold of every write. */
export const judges = { controller: specification, agent: agentSpecification } as const;

function problemsIn(clusters: Clusters): readonly string[] {
  const { server } = clusters;
  return [...problemsAtRest(server), ...clusterProblems(server), ...connectedProblems(clusters)];
}

/** Searches a world, and judges it by the specification. */
export async function search(
  world: SearchWorld,
  bounds: Bounds,
  options?: MachineOptions,
): Promise<Searched> {
  // Errors are values here: nobody reads their stacks, which take a fifth of the time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return await explore(new Machine(world, judges, options), problemsIn, bounds);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A violation in words: the world, the trace and what is wrong at its end. */
export function violationText({
  world,
  actions,
  found,
}: NonNullable<Searched["violation"]>): string {
  return [`${world}: ${found.join("; ")}`, ...actions.map((action) => `  ${action}`)].join("\n");
}

/** Takes the actions of a trace, and leads the machine to rest: what was wrong on the way and there. */
export async function replay(
  world: SearchWorld,
  actions: readonly string[],
): Promise<readonly string[]> {
  const machine = new Machine(world, judges);
  let state = await machine.begin();
  const found: string[] = [];
  for (const action of actions) {
    if (!machine.actions(state).includes(action)) return [...found, `${action} is not enabled`];
    const step = await machine.step(state, action);
    state = step.state;
    found.push(...step.violations);
  }
  const { state: end, violations, isAtRest } = await machine.rest(state);
  return [...found, ...violations, ...(isAtRest ? problemsIn(end) : ["no rest"])];
}
