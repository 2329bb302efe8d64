import { keyOf } from "../../../api/object.ts";
import type { ReportCause, ReportItem, ReportObject } from "../../../api/report.ts";
import { resources } from "../../../api/resources.ts";
import type { Subject } from "../../../api/role.ts";
import { nameOf, reportCause } from "../../../domain/cause.ts";
import { arrives } from "../../../domain/sync/explain.ts";
import { reasonOf } from "../../../domain/sync/outcome-reasons.ts";
import { causesOf, factsOf } from "../../../domain/sync/outcome-texts.ts";
import type { TargetChange } from "../../../domain/sync/plan-change.ts";
import type { MissingRight } from "../missing-right.ts";
import type { AppliedManifest } from "./plan-apply.ts";
import type { PlannedAccess } from "./plan-roles.ts";
import type { KnownSync } from "./plan-sync.ts";
import { asSentence, missingItem } from "./report.ts";
import { named } from "./why-report.ts";

/** What `plan` prints. It has no value of a secret. */
export interface PlanReport {
  /** The objects of the files. */
  readonly objects: readonly ReportItem[];
  /** Secrets that sync changes. */
  readonly copies: readonly ReportItem[];
  /** Roles and RoleBindings that change. */
  readonly access: readonly ReportItem[];
  /** Secrets that sync cannot make copies, and that stay as they are. */
  readonly stuck: readonly ReportItem[];
  readonly notes: readonly ReportItem[];
  /** Rights without which the plan leaves something out. */
  readonly missing: readonly MissingRight[];
}

/** The plan for programs. */
export function planItems(report: PlanReport): readonly ReportItem[] {
  const { objects, copies, access, stuck, notes, missing } = report;
  return [...objects, ...copies, ...access, ...stuck, ...notes, ...missing.map(missingItem)];
}

/** Whether sync changes a copy, a Role or a RoleBinding. */
export function hasChanges({ copies, access }: PlanReport): boolean {
  return copies.length > 0 || access.length > 0;
}

/** The item of an object of a file. */
export function objectItem({ kind, ref, file, isNew, isChecked }: AppliedManifest): ReportItem {
  const item = { object: named(kind, ref), causes: [] };
  if (!isChecked)
    return {
      ...{ ...item, state: "unknown", reason: "NotChecked" },
      message: `It is created from ${file}. The API server cannot check it, because its namespace does not exist yet.`,
    };
  return isNew
    ? { ...item, state: "info", reason: "Created", message: `It is created from ${file}.` }
    : { ...item, state: "info", reason: "Configured", message: `It is configured from ${file}.` };
}

/** Sorts the changes of targets into those that are made and those that are not. */
export function copyItems(
  changes: readonly TargetChange[],
  { isAssumed }: Pick<KnownSync, "isAssumed">,
  { retries }: { readonly retries: boolean },
): Pick<PlanReport, "copies" | "stuck"> {
  const copies = new Map<string, ReportItem>();
  const stuck = new Map<string, ReportItem>();
  for (const { target, action, because } of changes) {
    const object = named(resources.secrets.kind, target);
    const source = named(resources.sharedSecrets.kind, because.sourceRef);
    const item = {
      ...{ reason: reasonOf(because), message: asSentence(factsOf(because)) },
      causes: [
        ...causesOf(because).map(reportCause),
        ...(isAssumed(target) ? [assumedCause(object)] : []),
      ],
    };
    // The controller tries a rejected write again and again; a changed source may succeed.
    const isRejected = because.kind === "refused" && !retries;
    if (action !== "nothing" && !isRejected)
      copies.set(keyOf(target), { object, source, state: action, ...item });
    else if (!arrives(because))
      stuck.set(`${keyOf(target)} ${keyOf(source)}`, { object, source, state: "problem", ...item });
  }
  return { copies: [...copies.values()], stuck: [...stuck.values()] };
}

/** The item of a change of a Role or RoleBinding; `isNew` for a SharedSecret without a uid. */
export function accessItem(change: PlannedAccess, isNew: boolean): ReportItem {
  const { sharedSecret, kind, name, action, verbs, added, removed, assumed } = change;
  const { namespace = "" } = sharedSecret;
  // The name depends on the uid.
  const object = { kind, namespace, ...(isNew ? {} : { name }) };
  return {
    ...{ object, source: named(resources.sharedSecrets.kind, sharedSecret), state: action },
    ...{ reason: "AccessChanged", message: `The verbs are ${verbs.join(", ")}.` },
    causes: [
      ...added.map((subject) => subjectCause(subject, "SubjectAdded", "gains")),
      ...removed.map((subject) => subjectCause(subject, "SubjectRemoved", "loses")),
      ...(assumed ? [assumedCause(object)] : []),
    ],
  };
}

function subjectCause(
  subject: Subject,
  reason: ReportCause["reason"],
  verb: "gains" | "loses",
): ReportCause {
  const object = named(subject.kind, subject);
  return { object, reason, message: `${nameOf(object)} ${verb} access.` };
}

function assumedCause(object: ReportObject): ReportCause {
  const message = `You may not read the ${object.kind}, so its state is assumed.`;
  return { object, reason: "Assumed", message };
}
