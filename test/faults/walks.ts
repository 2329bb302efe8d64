import fc from "fast-check";
import type { Worker } from "./worker.ts";
import type { InProcessOptions } from "./in-process-backend.ts";
import { Judge, type Judgement, stepText } from "./walk-judge.ts";
import { type Walk, walksOf } from "./walk-steps.ts";
import { type WalkKind, walkKinds } from "./walk-values.ts";

/** The walks to take: those of `seed` and the following seeds. Every seed is a walk of one kind. */
export interface WalksOptions extends Pick<InProcessOptions, "assemble"> {
  readonly seed: number;
  readonly walks: number;
  /** All by default; seeds of other kinds are skipped. */
  readonly kinds?: readonly WalkKind[];
  /** The number of smaller walks that are tried to find the smallest one that fails. */
  readonly shrinks: number;
  readonly onWalked: (walked: Walked) => void;
}

/** A walk that was taken; `seed` repeats it. */
export interface Walked extends Judgement {
  readonly seed: number;
  readonly kind: WalkKind;
}

/** The maximum number of steps of a walk. */
const maxSteps = 10;

/** Takes walks, one at a time on each worker. */
export async function takeWalks(
  workers: readonly Worker[],
  { seed, walks, kinds = walkKinds, shrinks, onWalked, ...options }: WalksOptions,
): Promise<void> {
  const arbitraries = new Map(
    await Promise.all(
      walkKinds.map(async (kind) => [kind, await walksOf(kind, { maxSteps })] as const),
    ),
  );
  const judge = new Judge();
  const kindOf = (own: number) => walkKinds[own % walkKinds.length] ?? "SharedSecret";
  const seeds = Array.from({ length: walks * walkKinds.length }, (_, index) => seed + index).filter(
    (own) => kinds.includes(kindOf(own)),
  );
  const rest = seeds.slice(0, walks).values();
  const follow = async (worker: Worker) => {
    for (const own of rest) {
      const kind = kindOf(own);
      const arbitrary = arbitraries.get(kind);
      if (arbitrary === undefined) throw new Error(`there are no walks of ${kind}`);
      const judgement = await smallest(arbitrary, {
        seed: own,
        shrinks,
        judge: (walk) => judge.judge({ worker, seed: own, ...options }, walk),
      });
      onWalked({ seed: own, kind, ...judgement });
    }
  };
  await Promise.all(workers.map(follow));
}

interface Search {
  readonly seed: number;
  readonly shrinks: number;
  readonly judge: (walk: Walk) => Promise<Judgement>;
}

/**
 * The judgement of the walk of a seed; if it fails, that of the smallest walk that fails, with its
 * steps.
 */
async function smallest(
  arbitrary: fc.Arbitrary<Walk>,
  { seed, shrinks, judge }: Search,
): Promise<Judgement> {
  const judged: Judgement[] = [];
  let tries = 0;
  const property = fc.asyncProperty(arbitrary, async (walk) => {
    tries += 1;
    if (tries > shrinks + 1) return true;
    const { problems, counts } = await judge(walk);
    const story = [
      `${walk.kind} ${walk.name.slice(0, 20)}:`,
      ...walk.steps.map((step) => `  ${stepText(step)}`),
    ];
    if (problems.length > 0 || tries === 1)
      judged.push({ problems: problems.length === 0 ? [] : [...story, ...problems], counts });
    return problems.length === 0;
  });
  await fc.check(property, { seed, numRuns: 1 });
  const last = judged.at(-1);
  if (last === undefined) throw new Error("no walk was judged");
  return last;
}
