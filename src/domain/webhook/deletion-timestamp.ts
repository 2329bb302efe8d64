import { recordAt, stringAt } from "../../api/parse.ts";
import { instantOf } from "../lifetime.ts";
import type { FieldProblem } from "../shared-secret/data-values.ts";

/** Longer than a timestamp; its fraction may have any number of digits. */
const mostShown = 64;

/**
 * The problem of an update that postpones the deletion of an object by a whole second or more, the
 * precision of metav1.Time; undefined if it does not, or removes the field
 * (docs/decisions/deletion-timestamp.md).
 */
export function laterDeletionProblem(object: unknown, oldObject: unknown) {
  const [sent, stored] = [deletionTimestamp(object), deletionTimestamp(oldObject)];
  const [wanted, end] = [secondOf(sent), secondOf(stored)];
  if (sent === undefined || end === undefined || (wanted !== undefined && wanted <= end))
    return undefined;
  return {
    field: "metadata.deletionTimestamp",
    message:
      `must not be later than the stored ${JSON.stringify(stored)}, but is ` +
      `${JSON.stringify(sent.slice(0, mostShown))}; leave it out, or send the stored value: ` +
      "a deletion that has begun cannot be postponed",
  } satisfies FieldProblem;
}

function deletionTimestamp(object: unknown): string | undefined {
  return stringAt(recordAt(object, "metadata"), "deletionTimestamp");
}

/** Seconds since the epoch. Go also reads a comma before the fraction. */
function secondOf(text: string | undefined): number | undefined {
  const instant = instantOf(text?.replace(",", "."));
  return instant === undefined ? undefined : Math.floor(instant / 1000);
}
