import fc from "fast-check";
import { onWorkers } from "./matrix.ts";
import { type Judgement, judgeWalk, type Spot, stepText, walksOf, type WalkModel } from "./walk.ts";
import { objectModel } from "./walk-object.ts";
import { secretModel } from "./walk-secret.ts";
import { walkKinds } from "./walk-values.ts";
import type { Worker } from "./worker.ts";

/** The kinds of walks: those of one object of a kind, and those with placeholders. */
export const courseKinds: readonly string[] = [...walkKinds, secretModel.kind];

/** The walks to take: those of `seed` and the following seeds. Every seed is a walk of one kind. */
export interface WalksOptions {
  readonly seed: number;
  readonly walks: number;
  /** All by default; seeds of other kinds are skipped. */
  readonly kinds?: readonly string[];
  /** The number of smaller walks that are tried to find the smallest one that fails. */
  readonly shrinks: number;
  readonly onWalked: (walked: Walked) => void;
}

/** A walk that was taken; `seed` repeats it. */
export interface Walked extends Judgement {
  readonly seed: number;
  readonly kind: string;
}

/** Takes walks, one at a time on each worker. */
export async function takeWalks(
  workers: readonly Worker[],
  { seed, walks, kinds = courseKinds, shrinks, onWalked }: WalksOptions,
): Promise<void> {
  const searches = [
    ...(await Promise.all(walkKinds.map(objectModel))).map((model) => searchOf(model, shrinks)),
    searchOf(secretModel, shrinks),
  ];
  const searchFor = (own: number) => searches[own % searches.length];
  const seeds = Array.from({ length: walks * searches.length }, (_, index) => seed + index);
  const chosen = seeds.filter((own) => kinds.includes(searchFor(own)?.kind ?? ""));
  await onWorkers(workers, chosen.slice(0, walks), async (worker, own) => {
    const search = searchFor(own);
    if (search === undefined) throw new Error(`there is no walk of ${own}`);
    onWalked({ seed: own, kind: search.kind, ...(await search.judge({ worker, seed: own })) });
  });
}

/**
 * Takes the walk of a seed; if it fails, returns the judgement of the smallest walk that fails, with
 * its steps.
 */
function searchOf<Action>(model: WalkModel<Action>, shrinks: number) {
  const judge = async (spot: Spot): Promise<Judgement> => {
    const judged: Judgement[] = [];
    let tries = 0;
    const property = fc.asyncProperty(walksOf(model.steps), async (walk) => {
      tries += 1;
      if (tries > shrinks + 1) return true;
      const { problems, counts } = await judgeWalk(spot, model, walk);
      const title = `${model.kind} ${walk.name.slice(0, 20)}`.trim();
      const story = [`${title}:`, ...walk.steps.map((step) => `  ${stepText(step)}`)];
      if (problems.length > 0 || tries === 1)
        judged.push({ problems: problems.length === 0 ? [] : [...story, ...problems], counts });
      return problems.length === 0;
    });
    await fc.check(property, { seed: spot.seed, numRuns: 1 });
    const last = judged.at(-1);
    if (last === undefined) throw new Error("no walk was judged");
    return last;
  };
  return { kind: model.kind, judge };
}
