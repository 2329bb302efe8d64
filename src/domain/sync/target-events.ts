import { listAt, recordAt, stringAt } from "../../api/parse.ts";
import type { SharedSecret } from "../../api/shared-secret.ts";
import type { Write } from "../plan/plan.ts";
import type { SyncSummary, TargetFailure } from "./sync-summary.ts";

const reasonOf = { conflict: "Conflict", failed: "Failed" } as const;

/**
 * Returns an Event at each target that is new among the failures of the status: the owner of a
 * namespace may not be able to read the SharedSecret. Only failures in the status are recorded, so
 * that a restart does not repeat Events.
 */
export function targetEvents(
  { metadata, status }: SharedSecret,
  { failures }: Pick<SyncSummary, "failures">,
): readonly Write[] {
  const listed = new Set(
    listAt(recordAt(status, "sync"), "failures").map((entry) =>
      keyOf(stringAt(entry, "namespace"), stringAt(entry, "name"), stringAt(entry, "reason")),
    ),
  );
  return failures
    .filter(({ namespace, name, reason }) => !listed.has(keyOf(namespace, name, reason)))
    .map(({ kind, namespace, name, message, regarding }: TargetFailure) => ({
      do: "record-event",
      event: {
        ...regarding,
        type: "Warning",
        reason: reasonOf[kind],
        note: `SharedSecret ${metadata.namespace ?? ""}/${metadata.name} is not synced to Secret ${namespace}/${name}: ${message}`,
        deduplicationKey: `${metadata.uid} ${metadata.resourceVersion}`,
      },
    }));
}

function keyOf(...parts: readonly (string | undefined)[]): string {
  return JSON.stringify(parts);
}
