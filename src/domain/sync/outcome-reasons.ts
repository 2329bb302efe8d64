import type { Reason } from "../../api/conditions.ts";
import type { ReportReason } from "../../api/report.ts";
import type { Explanation, OutcomeKind } from "./explain.ts";
import { conflictReasons } from "./outcome.ts";

/** The reason of each case in a report. */
export const outcomeReasons = {
  arrives: "Arrives",
  refused: "Rejected",
  "older-source": conflictReasons.olderSource,
  "other-request": conflictReasons.otherRequest,
  unfillable: conflictReasons.invalidPlaceholder,
  "not-managed": conflictReasons.notManaged,
  "copied-by-user": "CopiedByUser",
  "source-paused": "SourcePaused",
  "copy-paused": "CopyPaused",
  "source-gone": "SourceNotFound",
  "source-deleting": "SourceTerminating",
  "other-name": "OtherName",
  "not-offered": "NotRequested",
  "invalid-option": "InvalidSyncOption",
  "refused-type": "InvalidSyncOption",
  "invalid-key": "InvalidKey",
  "too-large": "TooLarge",
  "namespace-missing": "NamespaceNotFound",
  "namespace-terminating": "NamespaceTerminating",
  "no-project": "NoProject",
  "project-not-named": "ProjectNotNamed",
  "sync-not-enabled": "SyncNotEnabled",
  "sync-from-required": "SyncFromRequired",
  "sync-from-invalid": "SyncFromInvalid",
  "sync-from-excludes": "SyncFromExcludes",
} as const satisfies Readonly<Record<OutcomeKind, ReportReason | Reason>>;

/** The reason of an outcome in a report. */
export function reasonOf({ kind }: Pick<Explanation, "kind">): ReportReason | Reason {
  return outcomeReasons[kind];
}

/** Whether a reason is about the Secret at the target, and not about what both sides allow. */
export function isAtTarget(reason: string): boolean {
  return atTarget.has(reason);
}

const atTarget: ReadonlySet<string> = new Set(
  (
    [
      "refused",
      "older-source",
      "other-request",
      "unfillable",
      "not-managed",
      "copied-by-user",
      "source-paused",
      "copy-paused",
    ] as const
  ).map((kind) => outcomeReasons[kind]),
);
