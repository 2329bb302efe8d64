import fc from "fast-check";
import type { Worker } from "./worker.ts";
import type { InProcessOptions } from "./in-process-backend.ts";
import { Judge, type Judgement, type Step, stepText } from "./walk-judge.ts";
import { judgeSecretWalk } from "./walk-secret-play.ts";
import { placeholderKind, secretWalks } from "./walk-secret-steps.ts";
import { walksOf } from "./walk-steps.ts";
import { walkKinds } from "./walk-values.ts";

/** The kinds of walks: those of one object of a kind, and those with placeholders. */
export const courseKinds = [...walkKinds, placeholderKind] as const;

/** The name of a kind of walks. */
export type CourseKind = (typeof courseKinds)[number];

/** The walks to take: those of `seed` and the following seeds. Every seed is a walk of one kind. */
export interface WalksOptions extends Pick<InProcessOptions, "assemble"> {
  readonly seed: number;
  readonly walks: number;
  /** All by default; seeds of other kinds are skipped. */
  readonly kinds?: readonly CourseKind[];
  /** The number of smaller walks that are tried to find the smallest one that fails. */
  readonly shrinks: number;
  readonly onWalked: (walked: Walked) => void;
}

/** A walk that was taken; `seed` repeats it. */
export interface Walked extends Judgement {
  readonly seed: number;
  readonly kind: CourseKind;
}

/** The maximum number of steps of a walk, and of one with placeholders, which has more objects. */
const maxSteps = 10;
const maxSecretSteps = 16;

/** Where a walk is taken. */
type Spot = Pick<InProcessOptions, "assemble" | "seed"> & { readonly worker: Worker };

/** The walk of a seed: its judgement, or that of the smallest walk that fails. */
type Course = (spot: Spot, search: Pick<Search<unknown>, "seed" | "shrinks">) => Promise<Judgement>;

async function coursesOf(): Promise<ReadonlyMap<CourseKind, Course>> {
  const judge = new Judge();
  const objects = await Promise.all(
    walkKinds.map(async (kind): Promise<readonly [CourseKind, Course]> => {
      const arbitrary = await walksOf(kind, { maxSteps });
      const course: Course = (spot, search) =>
        smallest(arbitrary, {
          ...search,
          judge: (walk) => judge.judge(spot, walk),
          titleOf: (walk) => `${walk.kind} ${walk.name.slice(0, 20)}`,
        });
      return [kind, course];
    }),
  );
  const secrets = secretWalks({ maxSteps: maxSecretSteps }).map((steps) => ({ steps }));
  const placeholders: Course = (spot, search) =>
    smallest(secrets, {
      ...search,
      judge: ({ steps }) => judgeSecretWalk(spot, steps),
      titleOf: () => placeholderKind,
    });
  return new Map([...objects, [placeholderKind, placeholders]]);
}

/** Takes walks, one at a time on each worker. */
export async function takeWalks(
  workers: readonly Worker[],
  { seed, walks, kinds = courseKinds, shrinks, onWalked, ...options }: WalksOptions,
): Promise<void> {
  const courses = await coursesOf();
  const kindOf = (own: number) => courseKinds[own % courseKinds.length] ?? "SharedSecret";
  const seeds = Array.from(
    { length: walks * courseKinds.length },
    (_, index) => seed + index,
  ).filter((own) => kinds.includes(kindOf(own)));
  const rest = seeds.slice(0, walks).values();
  const follow = async (worker: Worker) => {
    for (const own of rest) {
      const kind = kindOf(own);
      const course = courses.get(kind);
      if (course === undefined) throw new Error(`there are no walks of ${kind}`);
      const judgement = await course({ worker, seed: own, ...options }, { seed: own, shrinks });
      onWalked({ seed: own, kind, ...judgement });
    }
  };
  await Promise.all(workers.map(follow));
}

interface Search<Walk> {
  readonly seed: number;
  readonly shrinks: number;
  readonly judge: (walk: Walk) => Promise<Judgement>;
  readonly titleOf: (walk: Walk) => string;
}

/**
 * The judgement of the walk of a seed; if it fails, that of the smallest walk that fails, with its
 * steps.
 */
async function smallest<Walk extends { readonly steps: readonly Step[] }>(
  arbitrary: fc.Arbitrary<Walk>,
  { seed, shrinks, judge, titleOf }: Search<Walk>,
): Promise<Judgement> {
  const judged: Judgement[] = [];
  let tries = 0;
  const property = fc.asyncProperty(arbitrary, async (walk) => {
    tries += 1;
    if (tries > shrinks + 1) return true;
    const { problems, counts } = await judge(walk);
    const story = [`${titleOf(walk)}:`, ...walk.steps.map((step) => `  ${stepText(step)}`)];
    if (problems.length > 0 || tries === 1)
      judged.push({ problems: problems.length === 0 ? [] : [...story, ...problems], counts });
    return problems.length === 0;
  });
  await fc.check(property, { seed, numRuns: 1 });
  const last = judged.at(-1);
  if (last === undefined) throw new Error("no walk was judged");
  return last;
}
