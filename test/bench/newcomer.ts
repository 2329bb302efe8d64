import { performance } from "node:perf_hooks";
import { patch } from "../support/bare-client.ts";
import {
  dataOf,
  home,
  metadataOf,
  namespaceRequest,
  sharedSecretPath,
  sharedSecretRequest,
} from "../support/bench-objects.ts";
import {
  type Bench,
  type BenchFixture,
  removeSource,
  type Running,
  seedNamespaces,
  withWarmController,
} from "./bench-fixture.ts";
import { latencyRow, type Row } from "./report.ts";
import type { Size } from "./sizes.ts";
import { copiesOnly, watchCollection } from "./watch-collection.ts";

/** The SharedSecret and its project. */
const name = "wide";

/** Times new targets of a SharedSecret with many others. */
export async function newcomer({ fixture, size, report }: Bench): Promise<void> {
  await seedNamespaces(fixture, name, size.newcomers.beside);
  await withWarmController(fixture, async (running) =>
    report(await newcomerRows(fixture, running, size.newcomers)),
  );
}

/**
 * The time that a namespace which joins a project during a fan-out to many others waits for its
 * copy, from the response to its creation to the copy's event. One namespace joins after the other;
 * the fan-out is repeated until there are enough.
 */
async function newcomerRows(
  fixture: BenchFixture,
  running: Running,
  { atLeast, beside }: Size["newcomers"],
): Promise<readonly Row[]> {
  const { admin, say } = fixture;
  let copies = 0;
  const isKept = (line: string): boolean => {
    copies += 1;
    return line.includes('"namespace":"newcomer-');
  };
  const watch = await watchCollection(admin, "/api/v1/secrets", { query: copiesOnly, isKept });
  const waits: number[] = [];
  let joining = 0;
  const rates: number[] = [];
  const end = await running.readings.begin();
  for (let round = 0; waits.length < atLeast; round += 1) {
    const [begun, before] = [performance.now(), copies];
    const isUnderWay = (): boolean => copies - before < beside * 0.95;
    await admin.send(
      round === 0
        ? sharedSecretRequest({ name, project: name }, 0)
        : patch(sharedSecretPath(home, name), { spec: { data: dataOf(round) } }),
    );
    while (isUnderWay() && waits.length < atLeast * 2) {
      const namespace = `newcomer-${joining}`;
      joining += 1;
      await admin.send(namespaceRequest(namespace, name));
      const joined = performance.now();
      const { at } = await watch.first(({ object }) => metadataOf(object).namespace === namespace);
      if (isUnderWay()) waits.push(Math.max(0, at - joined));
    }
    rates.push(((copies - before) * 1000) / (performance.now() - begun));
    say(
      `newcomers: ${waits.length} during ${round + 1} fan-outs, ${rates.at(-1)?.toFixed(0)} copies a second`,
    );
    await running.readings.settled();
  }
  const usage = await end();
  watch.stop();
  await removeSource(fixture, running, name);
  return [
    latencyRow(`new target during a fan-out to ${beside}`, waits, {
      goal: "< 300 ms",
      usage,
      note: `beside ${Math.min(...rates).toFixed(0)} copies/s`,
    }),
  ];
}
