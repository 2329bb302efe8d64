import { labels } from "../../api/names.ts";
import { keyOf } from "../../api/object.ts";
import { hashName } from "../hash-name.ts";
import { copiedSource, type Source, type TargetSecret } from "../sync/copy.ts";
import { syncIndexes, type SyncObjects } from "../sync/sync-objects.ts";
import type { SyncSummary } from "../sync/sync-summary.ts";
import { isReason, type SourceReport } from "./cluster-report.ts";
import { isSourceUid } from "./outbox-names.ts";

/**
 * What an agent reports of a source whose targets it has counted; `source` is one of
 * `outboxEntryOf`, so its resourceVersion is that of the Secret of the outbox. A message is that of
 * a failure in a status at home, which never has a value, with its target.
 */
export function sourceReportOf(source: Source, summary: SyncSummary): SourceReport {
  const { desired, synced, conflicts, failed, failures } = summary;
  const counts = { desired, synced, conflicts, failed };
  const seen = source.secret.metadata.resourceVersion;
  const { problem } = source.options;
  if (problem !== undefined) return { seen, ...counts, ...problem };
  const [first] = failures;
  if (first === undefined) return { seen, ...counts };
  const reason = isReason(first.reason) ? first.reason : "Failed";
  return { seen, ...counts, reason, message: `${keyOf(first)}: ${first.message}` };
}

/**
 * The sources of copies that are not in the store: `namespace/name` by the uid in the label of the
 * copies. A copy that has lost its label is reported under a uid made of that text, so that the
 * central cluster can withdraw it, too.
 */
export function unknownSourcesOf(objects: SyncObjects): ReadonlyMap<string, string> {
  const { sharedSecrets, copies, placeholders, unmanagedSecrets } = objects;
  const unknown = new Map<string, string>();
  for (const secrets of [copies, placeholders, unmanagedSecrets]) {
    for (const name of secrets.namesIn(syncIndexes.source)) {
      if (sharedSecrets.get(name) !== undefined) continue;
      for (const copy of secrets.by(syncIndexes.source, name)) {
        if (copiedSource(copy.metadata) !== undefined) unknown.set(uidOf(copy, name), name);
      }
    }
  }
  return unknown;
}

function uidOf({ metadata }: TargetSecret, name: string): string {
  const uid = metadata.labels[labels.sourceUid];
  return uid !== undefined && isSourceUid(uid) ? uid : hashName([name], 32);
}
