import { keyOfState } from "./canonical.ts";
import type { Machine } from "./machine.ts";
import type { Clusters, State } from "./state.ts";

/** What must hold at rest; a sentence for each breach. */
export type RestJudge = (clusters: Clusters) => readonly string[];

/** How far a world is searched. */
export interface Bounds {
  readonly mostStates: number;
  /** One state of so many is led to rest. */
  readonly sampledBy: number;
}

/** A shortest trace to something that must not happen. */
export interface Violation {
  readonly world: string;
  readonly actions: readonly string[];
  readonly found: readonly string[];
}

/** The result of a search. */
export interface Searched {
  readonly world: string;
  readonly states: number;
  readonly steps: number;
  readonly rests: number;
  /** States that were found and not looked into. */
  readonly open: number;
  readonly violation?: Violation;
  /** The keys of the states at rest, and what the server has there. */
  readonly atRest: ReadonlySet<string>;
}

/** Searches all orders of a world, breadth first, up to the first violation. */
export async function explore(
  machine: Machine,
  judge: RestJudge,
  { mostStates, sampledBy }: Bounds,
): Promise<Searched> {
  const { world } = machine;
  const rests = new RestCheck(machine, judge);
  const parents: number[] = [-1];
  const actions: string[] = [""];
  const begin = await machine.begin();
  const seen = new Set([keyOfState(begin, world)]);
  const queue: (State | undefined)[] = [begin];
  let [steps, count] = [0, 0];
  const result = (index: number, found: readonly string[], last = ""): Searched => ({
    world: world.name,
    states: seen.size,
    steps,
    rests: count,
    atRest: rests.contents,
    open: queue.length - index,
    ...(found.length === 0
      ? {}
      : {
          violation: {
            world: world.name,
            actions: [...traceTo(index), ...(last === "" ? [] : [last])],
            found,
          },
        }),
  });
  const traceTo = (index: number): readonly string[] => {
    const trace: string[] = [];
    for (let at = index; at > 0; at = parents[at] ?? 0) trace.unshift(actions[at] ?? "");
    return trace;
  };
  for (let index = 0; index < queue.length; index += 1) {
    const state = queue[index];
    queue[index] = undefined;
    if (state === undefined) continue;
    const own = machine.ownActions(state);
    const enabled = machine.actions(state, own);
    const isAtRest = own.length === 0;
    if (isAtRest) count += 1;
    const isCalm = !isAtRest && machine.isCalm(state);
    const problems = isCalm
      ? judge(state)
      : isAtRest
        ? await rests.problemsAt(state)
        : index % sampledBy === 0
          ? await rests.problemsAfter(state)
          : [];
    if (problems.length > 0) return result(index, problems);
    for (const action of enabled) {
      const { state: next, violations } = await machine.step(state, action);
      steps += 1;
      if (violations.length > 0) return result(index, violations, action);
      if (seen.size >= mostStates) continue;
      const key = keyOfState(next, world);
      if (seen.has(key)) continue;
      seen.add(key);
      queue.push(next);
      parents.push(index);
      actions.push(action);
    }
    if (seen.size >= mostStates) return result(index + 1, []);
  }
  return result(queue.length, []);
}

/** Checks states at rest; what a server contains is checked once. */
class RestCheck {
  readonly #machine: Machine;
  readonly #judge: RestJudge;
  readonly contents = new Set<string>();

  constructor(machine: Machine, judge: RestJudge) {
    [this.#machine, this.#judge] = [machine, judge];
  }

  async problemsAt(rest: State): Promise<readonly string[]> {
    const content = contentOf(rest);
    if (this.contents.has(content)) return [];
    this.contents.add(content);
    const problems = this.#judge(rest);
    if (problems.length > 0) return problems;
    // A new leader reports the last words of a failure, where the former one kept the first.
    const isFailing = rest.instances.some(({ leader }) =>
      Object.values(leader?.queues ?? {}).some(({ retries }) => retries.size > 0),
    );
    if (isFailing) return [];
    let [last, writes]: [Clusters, boolean] = [rest, false];
    // Also what it takes back.
    const onStep = (state: State): void => {
      if (state.server !== last.server || state.connected !== last.connected)
        writes ||= contentOf(state) !== content;
      last = state;
    };
    const led = await this.#machine.led(rest);
    const { isAtRest, violations } = await this.#machine.rest(led, { onStep });
    if (!isAtRest) return ["a new leader does not come to rest"];
    return [...violations, ...(writes ? ["a new leader writes"] : [])];
  }

  /** The problems after the machine is left alone: before lifetimes end, and at rest. */
  async problemsAfter(begin: State): Promise<readonly string[]> {
    const { world } = this.#machine;
    const calm = await this.#machine.rest(begin, { stopsCalm: true });
    const isCalm = this.#machine.isCalm(calm.state);
    const before = isCalm ? this.#judge(calm.state) : [];
    // A repair is repeated for ever.
    if (isCalm && world.hasFights) return [...calm.violations, ...before];
    const { state, isAtRest, violations } = await this.#machine.rest(calm.state);
    if (!isAtRest) return ["the machine does not come to rest"];
    return [...calm.violations, ...before, ...violations, ...(await this.problemsAt(state))];
  }
}

/** Versions and times; those that are quoted again are in reports of agents. */
const passing =
  /"(?:resourceVersion|management.service\/revised-at|\w*Time\w*)":"[^"]*"|\\"\d+\\"/g;
/** What a status says of clusters: it is not written for another sentence alone. */
const sentences =
  /(?<="ClustersSynced","status":"\w+","reason":"\w+",|"Synced","status":"\w+","reason":"Outbox\w+",|"failed":\d+,"reason":"\w+",)"message":"(?:[^"\\]|\\.)*"/g;

/** The objects without what differs between orders: versions and times. */
export function contentOf({ server, connected }: Clusters): string {
  return [server, connected]
    .map(({ objects }) =>
      [...objects]
        .map(
          ([id, object]) =>
            `${id} ${JSON.stringify(object).replace(passing, "").replace(sentences, "")}`,
        )
        .sort()
        .join("\n"),
    )
    .join("\n\n");
}
