import { isRecord, recordAt } from "../../src/api/parse.ts";
import { snapshotOf, type Snapshot } from "../support/snapshot.ts";
import type { Worker } from "./worker.ts";
import { type InProcessOptions, type InProcessRun, inProcessRun } from "./in-process-backend.ts";
import { during } from "./play.ts";
import type { View } from "../support/visible-objects.ts";
import { clockOf, passTo } from "./walk-clock.ts";
import { WalkFixture } from "./walk-fixture.ts";
import { firstNamespaces, type State } from "./walk-state.ts";
import type { Walk, WalkStep } from "./walk-steps.ts";

/** A state that users created, and whether the controller became idle in it. */
export interface Moment {
  readonly state: State;
  readonly settled: boolean;
  /** Whether existing copies are kept in this state, as earlier states have left them. */
  readonly keepsCopies: boolean;
}

/** The environment of a run of one object. */
export interface Part extends Pick<InProcessOptions, "assemble"> {
  readonly worker: Worker;
  readonly seed: number;
  readonly subject: Pick<Walk, "kind" | "name">;
}

/** The number of steps, and how many of them the API server rejected. */
export interface WalkCounts {
  taken: number;
  refused: number;
  /** Idle states in which the object was not ready. */
  wrong: number;
  /** Idle states in which existing copies were kept. */
  keeping: number;
}

/** The result of a walk. */
export interface WalkResult {
  readonly endState: Snapshot;
  /** After the valid state that followed. */
  readonly rightState: Snapshot;
  readonly history: readonly Moment[];
  readonly counts: Readonly<WalkCounts>;
  /**
   * On the run's clock: when the object was created, and when the end state was read; milliseconds.
   */
  readonly bornAt: number;
  readonly endedAt: number;
  /** The requester of the object to which the valid state was applied. */
  readonly by: string;
  readonly problems: readonly string[];
}

/** The requester of an object that does not exist yet. */
export const firstRequester = "the-alice";

/** Takes all steps, waits, restarts the controller, and at last applies the valid state. */
export async function takeWalk(
  part: Part,
  steps: readonly WalkStep[],
  right: State,
): Promise<WalkResult> {
  const problems: string[] = [];
  const history: Moment[] = [];
  const counts: WalkCounts = { taken: 0, refused: 0, wrong: 0, keeping: 0 };
  let [endState, rightState]: Snapshot[] = [[], []];
  let [bornAt, endedAt] = [0, 0];
  let by = firstRequester;
  const play = async (run: InProcessRun, fixture: WalkFixture, see: () => Promise<Snapshot>) => {
    for (const [index, step] of steps.entries()) {
      await takeStep({ run, fixture, history, counts }, step);
      if (step.settled || index === steps.length - 1)
        problems.push(...(await settle({ run, fixture, history, counts })));
    }
    problems.push(...(await staysQuiet(run)).map((write) => `quiet: ${write}`));
    [bornAt, endedAt] = [fixture.bornAt, clockOf(run)];
    endState = await see();
    by = await rightAgain(fixture, part, right);
    await run.settle();
    if ((await fixture.report())?.isReady !== true)
      problems.push("right again: the right state is not ready");
    rightState = await see();
  };
  problems.push(...(await inRun(part, play)));
  return {
    endState: endState ?? [],
    rightState: rightState ?? [],
    history,
    counts,
    bornAt,
    endedAt,
    by,
    problems,
  };
}

/**
 * The result of a few states, each applied directly and followed by idle time, for an object of the
 * same age as that of a walk.
 */
export async function reachAfresh(
  part: Part,
  states: readonly State[],
  { bornAt, endedAt }: Pick<WalkResult, "bornAt" | "endedAt">,
): Promise<Pick<WalkResult, "endState" | "problems">> {
  let endState: Snapshot = [];
  const problems = await inRun(part, async (run, fixture, see) => {
    await passTo(run, bornAt);
    for (const state of states) {
      await fixture.reach(state);
      await run.settle();
    }
    await passTo(run, endedAt);
    await run.settle();
    endState = await see();
  });
  return { endState, problems };
}

type Scene = (
  run: InProcessRun,
  fixture: WalkFixture,
  see: () => Promise<Snapshot>,
) => Promise<void>;

/** Plays a scene with an idle controller, and deletes its objects; returns the problems. */
function inRun(part: Part, scene: Scene): Promise<readonly string[]> {
  const { cluster } = part.worker;
  return inOwnRun(part, async (run, view) => {
    const fixture = new WalkFixture({ run, cluster, view, subject: part.subject });
    const see = async () => normalized(await snapshotOf(cluster, view.prefix.slice(0, -1)));
    await fixture.prepare();
    await run.backend.startMissing();
    await run.settle();
    await fixture.becomesYounger();
    await scene(run, fixture, see);
  });
}

/** Plays something in a run of its own, and deletes its objects; returns the problems. */
export async function inOwnRun(
  { worker, seed, assemble }: Omit<Part, "subject">,
  play: (run: InProcessRun, view: View) => Promise<void>,
): Promise<readonly string[]> {
  const { cluster } = worker;
  const view = sized(await worker.nextView());
  const run = inProcessRun(
    { cluster, view },
    { seed, ...(assemble === undefined ? {} : { assemble }) },
  );
  await during(run, { worker, view, play: () => play(run, view) });
  return run.mistakes.map((mistake) => `mistake: ${mistake}`);
}

interface Scenery {
  readonly run: InProcessRun;
  readonly fixture: WalkFixture;
  readonly history: Moment[];
  readonly counts: WalkCounts;
}

async function takeStep(scenery: Scenery, { action }: WalkStep): Promise<void> {
  const isAccepted = await scenery.fixture.take(action);
  scenery.counts.taken += 1;
  if (!isAccepted) scenery.counts.refused += 1;
  await note(scenery);
}

async function note({ fixture, history }: Scenery): Promise<void> {
  const state = await fixture.state();
  const last = history.at(-1);
  if (last === undefined || JSON.stringify(last.state) !== JSON.stringify(state))
    history.push({ state, settled: false, keepsCopies: false });
}

async function settle(scenery: Scenery): Promise<readonly string[]> {
  const { run, fixture, history, counts } = scenery;
  await run.settle();
  await note(scenery);
  const report = await fixture.report();
  if (report?.isReady === false) counts.wrong += 1;
  if (report?.keepsCopies === true) counts.keeping += 1;
  const last = history.pop();
  if (last !== undefined)
    history.push({ state: last.state, settled: true, keepsCopies: report?.keepsCopies === true });
  return report === undefined || report.isCurrent
    ? []
    : ["status: it is not about the spec that stands"];
}

/**
 * Writes that are requested although nothing has changed, by the controller and by one that has
 * just started.
 */
export async function staysQuiet(run: InProcessRun): Promise<readonly string[]> {
  const late = await run.quiet();
  const { ledger } = run.logbook;
  const asked = ledger.asked.length;
  for (const instance of [...run.backend.instances]) await run.backend.restart(instance);
  await run.settle();
  return [...late, ...ledger.asked.slice(asked).map((write) => `${write} after a restart`)];
}

/**
 * The spec of a token is immutable: the valid state needs a new token. Returns the requester of the
 * object.
 */
async function rightAgain(fixture: WalkFixture, { subject }: Part, right: State): Promise<string> {
  if (subject.kind === "DirectClusterEndpointToken") {
    await fixture.take({ do: "delete", byForce: false });
    await fixture.becomesGone();
  }
  const by =
    subject.kind === "SharedSecret"
      ? firstRequester
      : ((await fixture.state()).object?.by ?? firstRequester);
  await fixture.reach({
    ...right,
    object: right.object === undefined ? undefined : { ...right.object, by },
  });
  return by;
}

/** Names of the same length in all runs: messages are truncated at a length. */
function sized({ prefix, system }: View): View {
  return {
    prefix: prefix.replace(/x(\d+)-$/, (_, run: string) => `x${run.padStart(5, "0")}-`),
    system,
  };
}

/** Without Events, which depend on the history, and with the same signing keys for all workers. */
function normalized(snapshot: Snapshot): Snapshot {
  return snapshot
    .filter((text) => !isEvent(JSON.parse(text)))
    .map((text) => text.replaceAll(/"keyID": "[\w-]{43}"/g, '"keyID": "kid"'));
}

function isEvent(object: unknown): boolean {
  return isRecord(object) && object.kind === "EventList";
}

/** Whether an object of a snapshot is a copy. */
export function isCopy(text: string): boolean {
  const object: unknown = JSON.parse(text);
  return (
    isRecord(object) &&
    object.kind === "SecretList" &&
    "management.service/copy-of" in recordAt(recordAt(object, "metadata"), "annotated")
  );
}

/** The state with the initial namespaces. */
export function stateOf(object: State["object"]): State {
  return { object, namespaces: firstNamespaces };
}
