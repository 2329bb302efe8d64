import type { InProcessRun } from "./in-process-backend.ts";
import type { Judgement } from "./walk-judge.ts";
import { inOwnRun, type Part, staysQuiet } from "./walk-play.ts";
import { allPlaces, SecretFixture } from "./walk-secret-fixture.ts";
import { needlessWrites, SecretJudge, sightOf } from "./walk-secret-judge.ts";
import { rightSteps, type SecretStep } from "./walk-secret-steps.ts";
import { requestOf } from "./walk-secret-world.ts";

/** The run of a walk, and what is known of it. */
interface SecretScenery {
  readonly run: InProcessRun;
  readonly fixture: SecretFixture;
  readonly judge: SecretJudge;
  readonly counts: Record<string, number>;
}

/**
 * Takes all steps, and compares every Secret with the model whenever the controller is idle, after a
 * restart, and after steps that fill every placeholder.
 */
export async function judgeSecretWalk(
  part: Omit<Part, "subject">,
  steps: readonly SecretStep[],
): Promise<Judgement> {
  const counts: Record<string, number> = { taken: 0, refused: 0 };
  const problems: string[] = [];
  const mistakes = await inOwnRun(part, async (run, view) => {
    const fixture = new SecretFixture({ run, view, cluster: part.worker.cluster });
    const judge = new SecretJudge(allPlaces);
    const scenery = { run, fixture, judge, counts };
    await fixture.prepare();
    await run.backend.startMissing();
    await run.settle();
    judge.sees(await fixture.world());
    for (const [index, { action, settled }] of steps.entries()) {
      await takeStep(scenery, action);
      if (settled || index === steps.length - 1)
        problems.push(...(await rest(scenery)).map((problem) => `step ${index + 1}: ${problem}`));
    }
    const asked = run.logbook.writes.length;
    await staysQuiet(run);
    problems.push(...needlessWrites(run.logbook.writes.slice(asked)));
    problems.push(...(await rest(scenery)).map((problem) => `end state: ${problem}`));
    for (const action of rightSteps) await takeStep(scenery, action);
    const right = { ...scenery, counts: {} };
    problems.push(...(await rest(right)).map((problem) => `right again: ${problem}`));
    problems.push(...(await unfilled(fixture)));
  });
  return { problems: [...problems, ...mistakes], counts };
}

async function takeStep(
  { fixture, judge, counts }: SecretScenery,
  action: SecretStep["action"],
): Promise<void> {
  const { isAccepted, wrote } = await fixture.take(action);
  count(counts, "taken");
  if (!isAccepted) count(counts, "refused");
  if (wrote !== undefined) judge.wrote(wrote.place, wrote.state);
  judge.sees(await fixture.world());
}

async function rest({ run, fixture, judge, counts }: SecretScenery): Promise<readonly string[]> {
  await run.settle();
  const { found, leaks } = await fixture.secrets();
  for (const secret of found.values()) count(counts, sightOf(secret));
  const stale = (await fixture.reports()).filter(({ isCurrent }) => !isCurrent);
  return [
    ...judge.atRest(found, await fixture.world()),
    ...leaks,
    ...stale.map(() => "status: it is not about the spec that stands"),
  ];
}

/** Placeholders that are not filled, after steps that fill all of them. */
async function unfilled(fixture: SecretFixture): Promise<readonly string[]> {
  const { found } = await fixture.secrets();
  const asking = [...found.values()].filter((secret) => requestOf(secret) !== undefined);
  const filled = asking.filter((secret) => sightOf(secret) === "filled");
  return filled.length === 4 ? [] : [`right again: ${filled.length} placeholders of 4 are filled`];
}

function count(counts: Record<string, number>, what: string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}
