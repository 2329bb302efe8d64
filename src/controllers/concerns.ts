import { annotations, labels } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import type { Source } from "../domain/sync/copy.ts";
import { isSame } from "../domain/plan/merge-patch.ts";

/** Whether the copies of a SharedSecret have to be looked at after this change. */
export function concernsCopies(before: Source | undefined, after: Source | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  const same = before.digest === after.digest && isSame(before.options, after.options);
  return (
    !same || before.secret.metadata.deletionTimestamp !== after.secret.metadata.deletionTimestamp
  );
}

/** Whether a change of a namespace bears on who receives what. */
export function concernsSync(before: Metadata | undefined, after: Metadata | undefined): boolean {
  const relevant = (namespace: Metadata | undefined): unknown =>
    namespace && {
      project: namespace.labels[labels.project],
      sync: namespace.annotations[annotations.sync],
      from: namespace.annotations[annotations.syncFrom],
      deleting: namespace.deletionTimestamp !== undefined,
      uid: namespace.uid,
    };
  return !isSame(relevant(before), relevant(after));
}
