import { performance } from "node:perf_hooks";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { patch, remove } from "../support/bare-client.ts";
import {
  dataOf,
  metadataOf,
  namesOf,
  secretPath,
  sharedSecretRequest,
} from "../support/bench-objects.ts";
import { repeated } from "../support/measured-run.ts";
import { accessRows } from "./access.ts";
import {
  type Bench,
  type BenchFixture,
  removeSource,
  type Running,
  withWarmController,
} from "./bench-fixture.ts";
import { latencyRow, type Row } from "./report.ts";
import { copiesOnly, watchCollection, type CollectionWatch } from "./watch-collection.ts";

const name = "repaired";

/** Times single changes: of copies, and of access rules. */
export function latency({ fixture, size, report }: Bench): Promise<void> {
  return withWarmController(fixture, async (running) => {
    fixture.say("repairs");
    const targets = size.fanOuts[0]?.targets ?? 0;
    const terms = { project: `of-${targets}`, targets, samples: size.samples };
    report(await repairRows(fixture, running, terms));
    fixture.say("grants and revocations");
    report(await accessRows(fixture, running, size.samples));
  });
}

/** The targets, and how many copies are edited, and deleted. */
interface Terms {
  readonly project: string;
  readonly targets: number;
  readonly samples: number;
}

/**
 * The time until an edited or deleted copy is repaired, from the response to the edit to the event
 * of the repair.
 */
async function repairRows(
  fixture: BenchFixture,
  running: Running,
  { project, targets, samples }: Terms,
): Promise<readonly Row[]> {
  const { admin } = fixture;
  await admin.send(sharedSecretRequest({ name, project }, 1));
  await running.readings.settled();
  const watch = await watchCollection(admin, "/api/v1/secrets", { query: copiesOnly });
  const namespaces = namesOf(project, targets);
  const measured = async (
    what: string,
    damage: (path: string, sample: number) => Promise<Damage>,
  ): Promise<Row> => {
    const end = await running.readings.begin();
    const times = await repeated(samples, async (sample) => {
      const namespace = namespaces[sample % targets] ?? "";
      const { answered, version } = await damage(secretPath(namespace, name), sample);
      const { at } = await repairOf(watch, namespace, await version);
      return Math.max(0, at - answered);
    });
    return latencyRow(`repair of ${what}`, times, { goal: "< 250 ms", usage: await end() });
  };
  const edited = await measured("an edited copy", async (path, sample) => {
    const password = Buffer.from(`edited ${sample}`).toString("base64");
    const { resourceVersion } = metadataOf(await admin.ask(patch(path, { data: { password } })));
    return { answered: performance.now(), version: Promise.resolve(resourceVersion) };
  });
  const deleted = await measured("a deleted copy", async (path) => {
    const { uid } = metadataOf(await admin.get(path));
    await admin.send(remove(path));
    const answered = performance.now();
    const gone = watch.first(
      ({ type, object }) => type === "DELETED" && metadataOf(object).uid === uid,
    );
    return { answered, version: gone.then(({ object }) => metadataOf(object).resourceVersion) };
  });
  watch.stop();
  await removeSource(fixture, running, name);
  return [edited, deleted];
}

/** When the damage was answered, and the resource version that it made. */
interface Damage {
  readonly answered: number;
  readonly version: Promise<string>;
}

/** The event of the copy with the right data after a resource version. */
function repairOf(watch: CollectionWatch, namespace: string, version: string) {
  const right = dataOf(1).password;
  return watch.first(({ type, object }) => {
    const found = metadataOf(object);
    return (
      type !== "DELETED" &&
      found.namespace === namespace &&
      stringAt(recordAt(object, "data"), "password") === right &&
      BigInt(found.resourceVersion) > BigInt(version)
    );
  });
}
