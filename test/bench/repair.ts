import { performance } from "node:perf_hooks";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { latencyRow } from "./latency.ts";
import {
  dataOf,
  home,
  metadataOf,
  parsed,
  secretPath,
  sharedSecretPath,
  sharedSecretRequest,
} from "../support/bench-objects.ts";
import type { Row } from "./report.ts";
import { copiesOnly, watchCollection, type TimedEvent } from "./watch-collection.ts";
import type { Running, BenchFixture } from "./bench-fixture.ts";

const name = "repaired";

/**
 * The time until an edited or deleted copy is repaired, from the response to the edit to the event
 * of the repair.
 */
export async function repairRows(
  fixture: BenchFixture,
  running: Running,
  {
    project,
    namespaces,
    samples,
  }: { readonly project: string; readonly namespaces: readonly string[]; readonly samples: number },
): Promise<readonly Row[]> {
  const { admin } = fixture;
  await admin.send(sharedSecretRequest({ name, project }, 1));
  await running.readings.settled();
  const watch = await watchCollection(admin, "/api/v1/secrets", { selector: copiesOnly });
  const right = dataOf(1).password;
  const isRepair = ({ type, object }: TimedEvent, namespace: string): boolean =>
    type !== "DELETED" &&
    metadataOf(object).namespace === namespace &&
    stringAt(recordAt(object, "data"), "password") === right;

  const endEdits = await running.readings.begin();
  const edited: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    const namespace = namespaces[sample % namespaces.length] ?? "";
    const body = { data: { password: Buffer.from(`edited ${sample}`).toString("base64") } };
    const wrong = metadataOf(
      parsed(await admin.send({ method: "PATCH", path: secretPath(namespace, name), body })),
    );
    const answered = performance.now();
    const repaired = await watch.first(
      (seen) =>
        isRepair(seen, namespace) &&
        BigInt(metadataOf(seen.object).resourceVersion) > BigInt(wrong.resourceVersion),
    );
    edited.push(Math.max(0, repaired.at - answered));
  }
  const edits = await endEdits();

  const endDeletes = await running.readings.begin();
  const deleted: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    const namespace = namespaces[sample % namespaces.length] ?? "";
    const { uid } = metadataOf(
      parsed(await admin.send({ method: "GET", path: secretPath(namespace, name) })),
    );
    await admin.send({ method: "DELETE", path: secretPath(namespace, name) });
    const answered = performance.now();
    const { resourceVersion } = metadataOf(
      (
        await watch.first(
          ({ type, object }) => type === "DELETED" && metadataOf(object).uid === uid,
        )
      ).object,
    );
    const back = await watch.first(
      (seen) =>
        isRepair(seen, namespace) &&
        BigInt(metadataOf(seen.object).resourceVersion) > BigInt(resourceVersion),
    );
    deleted.push(Math.max(0, back.at - answered));
  }
  const deletes = await endDeletes();
  watch.stop();
  await admin.send({ method: "DELETE", path: sharedSecretPath(home, name) });
  await running.readings.settled();
  return [
    latencyRow("repair of an edited copy", edited, { belowMs: 250, usage: edits }),
    latencyRow("repair of a deleted copy", deleted, { belowMs: 250, usage: deletes }),
  ];
}
