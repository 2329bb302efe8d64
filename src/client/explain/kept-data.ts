import type { ObjectRef } from "../../api/object.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { reportObject } from "../../domain/report-object.ts";
import { plainItem } from "../report.ts";
import { keptDataKeys } from "../secrets/field-owners.ts";

/** Says which data keys a SharedSecret keeps although its files leave them out. */
export function keptDataItems(ref: ObjectRef, object: unknown): readonly ReportItem[] {
  const kept = keptDataKeys(object);
  if (kept === undefined) return [];
  const { keys, setBy, appliedBy } = kept;
  const message =
    `Field manager "${appliedBy}" applies it without ${keys.join(", ")}: field manager ` +
    `"${setBy}" has set that, so Kubernetes keeps it in the object, and sync in every copy. ` +
    `To remove it: kubectl latchkey unset ${ref.name} ${keys.join(" ")}.`;
  const subject = reportObject(resources.sharedSecrets.kind, ref);
  return [plainItem(subject, ["info", "DataKept"], message)];
}
