import fc from "fast-check";
import type { View } from "../support/visible-objects.ts";
import { type InProcessOptions, type InProcessRun, inProcessRun } from "./in-process-backend.ts";
import type { AskedWrite } from "./logbook.ts";
import { during } from "./play.ts";
import type { Worker } from "./worker.ts";

/** An action of a user, and whether the controller becomes idle before the next one. */
export interface WalkStep<Action> {
  readonly action: Action;
  readonly settled: boolean;
}

/** Steps; the name is that of their object, and empty if they are about several. */
export interface Walk<Action> {
  readonly name: string;
  readonly steps: readonly WalkStep<Action>[];
}

/** Where a walk is taken. */
export interface Spot extends Pick<InProcessOptions, "assemble" | "seed"> {
  readonly worker: Worker;
}

/** The run of a walk. */
export interface Stage extends Spot {
  readonly run: InProcessRun;
  readonly view: View;
}

/** The steps of a kind of walks. */
export interface WalkSteps<Action> {
  readonly names: fc.Arbitrary<string>;
  /** The first steps of each walk. */
  readonly opening: fc.Arbitrary<readonly WalkStep<Action>[]>;
  /** The actions of the other steps, and the maximum number of these steps. */
  readonly actions: fc.Arbitrary<Action>;
  readonly maxSteps: number;
}

/** A kind of walks: which steps there are, and how the cluster is compared with the model. */
export interface WalkModel<Action> {
  readonly kind: string;
  readonly steps: WalkSteps<Action>;
  readonly courseOf: (stage: Stage, name: string) => Course<Action>;
}

/** What a model finds when the controller is idle: problems, and words that the summary counts. */
export interface Rest {
  readonly problems: readonly string[];
  readonly sights: readonly string[];
}

/** The state of a model during a walk, and the cluster with which it is compared. */
export interface Course<Action> {
  /** Creates what must exist before the controller starts. */
  prepare(): Promise<void>;
  /** Called when the controller has become idle for the first time. */
  begin(): Promise<void>;
  /** Executes an action; returns whether the API server accepts it, throws if it does neither. */
  take(action: Action): Promise<boolean>;
  /** Compares the cluster with the model; the controller is idle. */
  atRest(): Promise<Rest>;
  /** The problems after time without a change, and a restart of the controller. */
  atEnd(): Promise<readonly string[]>;
  /** Brings everything into a valid state. */
  makeRight(): Promise<void>;
  /** The problems once the controller is idle in the valid state. */
  atRight(): Promise<readonly string[]>;
  /** Compares a walk without problems with other runs, after its own run. */
  compare(): Promise<readonly string[]>;
}

/** The problems of a walk (an empty list if it passed), and its properties. */
export interface Judgement {
  readonly problems: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
}

/** A step of one of these actions; the controller becomes idle after seven of ten. */
export function stepOf<Action>(action: fc.Arbitrary<Action>): fc.Arbitrary<WalkStep<Action>> {
  return fc.record({ action, settled: fc.integer({ min: 0, max: 9 }).map((chance) => chance < 7) });
}

/** Walks of these steps. */
export function walksOf<Action>(steps: WalkSteps<Action>): fc.Arbitrary<Walk<Action>> {
  const { names, opening, actions, maxSteps } = steps;
  const others = fc.array(stepOf(actions), { minLength: 1, maxLength: maxSteps, size: "max" });
  return fc.record({
    name: names,
    steps: fc.tuple(opening, others).map(([first, rest]) => [...first, ...rest]),
  });
}

/**
 * Takes all steps, waits, restarts the controller, and at last brings everything into a valid state;
 * compares the cluster with the model whenever the controller is idle.
 */
export async function judgeWalk<Action>(
  spot: Spot,
  { courseOf }: Pick<WalkModel<Action>, "courseOf">,
  { name, steps }: Walk<Action>,
): Promise<Judgement> {
  const problems: string[] = [];
  const note = (where: string, found: readonly string[]) =>
    void problems.push(...found.map((problem) => `${where}: ${problem}`));
  const counts = new Map<string, number>();
  const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const inWalk = async (course: Course<Action>, run: InProcessRun) => {
    for (const [index, { action, settled }] of steps.entries()) {
      count("taken");
      if (!(await course.take(action))) count("refused");
      if (!settled && index < steps.length - 1) continue;
      await run.settle();
      const rest = await course.atRest();
      note(`step ${index + 1}`, rest.problems);
      rest.sights.forEach(count);
    }
    note("quiet", await needlessWrites(run));
    note("end state", await course.atEnd());
    await course.makeRight();
    await run.settle();
    note("right again", await course.atRight());
  };
  const { mistakes, course } = await inOwnRun(spot, (stage) => courseOf(stage, name), inWalk);
  problems.push(...mistakes);
  if (problems.length === 0) problems.push(...(await course.compare()));
  return { problems, counts };
}

/**
 * Plays something with an idle controller in a run of its own, and deletes its objects; returns the
 * mistakes of the run.
 */
export async function inOwnRun<C extends Pick<Course<never>, "prepare" | "begin">>(
  spot: Spot,
  courseOf: (stage: Stage) => C,
  scene: (course: C, run: InProcessRun) => Promise<void>,
): Promise<{ readonly mistakes: readonly string[]; readonly course: C }> {
  const { worker, seed, assemble } = spot;
  const view = sized(await worker.nextView());
  const run = inProcessRun(
    { cluster: worker.cluster, view },
    { seed, ...(assemble === undefined ? {} : { assemble }) },
  );
  const course = courseOf({ ...spot, run, view });
  const play = async () => {
    await course.prepare();
    await run.backend.startMissing();
    await run.settle();
    await course.begin();
    await scene(course, run);
  };
  await during(run, { worker, view, play });
  return { mistakes: run.mistakes.map((mistake) => `mistake: ${mistake}`), course };
}

/** Writes of the controller, and of one that has just started, although nothing has changed. */
async function needlessWrites(run: InProcessRun): Promise<readonly string[]> {
  const asked = run.logbook.writes.length;
  await run.backend.idle();
  for (const instance of [...run.backend.instances]) await run.backend.restart(instance);
  await run.settle();
  return needlessOf(run.logbook.writes.slice(asked)).map(
    ({ process, sentence, answer }) => `${process}: ${sentence}, ${statusOf(answer)}`,
  );
}

/**
 * The writes without those that follow from a refused one: a controller that has just started
 * repeats a write that the API server refuses for the data of a Secret. Until it is refused again,
 * the status may report progress without it, and the Events of the failure are then new.
 */
export function needlessOf<Write extends Pick<AskedWrite, "process" | "request" | "answer">>(
  writes: readonly Write[],
): readonly Write[] {
  const isRepeat = ({ request, answer }: Write): boolean =>
    request.plural === "secrets" && answer?.status === 422;
  const repeating = new Set(writes.filter(isRepeat).map(({ process }) => process));
  const isReport = ({ process, request }: Write): boolean =>
    repeating.has(process) && (request.plural === "events" || request.subresource === "status");
  return writes.filter((write) => !isRepeat(write) && !isReport(write));
}

function statusOf(answer: AskedWrite["answer"]): string {
  return answer === undefined ? "no answer" : `status ${answer.status}`;
}

/** Names of the same length in all runs: messages are truncated at a length. */
function sized({ prefix, system }: View): View {
  return {
    prefix: prefix.replace(/x(\d+)-$/, (_, run: string) => `x${run.padStart(5, "0")}-`),
    system,
  };
}

/** A short description of a step. */
export function stepText({ action, settled }: WalkStep<unknown>): string {
  const text = JSON.stringify(action, (_, value: unknown) =>
    typeof value === "string" && value.length > 80
      ? `${value.slice(0, 20)}... (${value.length})`
      : value,
  );
  return `${text.length > 600 ? `${text.slice(0, 600)}...` : text}${settled ? "" : " and at once"}`;
}
