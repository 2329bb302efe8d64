import { keyOf } from "../../api/object.ts";
import type { ReportCause, ReportItem, ReportObject } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import type { Subject } from "../../api/role.ts";
import { nameOf, reportObject } from "../../domain/report-object.ts";
import type { TargetChange } from "../../domain/sync/plan-change.ts";
import { targetItem } from "../../domain/sync/sync-report.ts";
import { printable } from "../failure.ts";
import { type MissingRight, rightText } from "../missing-right.ts";
import type { Paint } from "../output.ts";
import type { AppliedManifest } from "./plan-apply.ts";
import type { PlannedAccess } from "./plan-roles.ts";
import type { KnownSync } from "./plan-sync.ts";
import { plainItem, withMissing, asSentence } from "../report.ts";

/** What `plan` prints. It has no value of a secret. */
export interface PlanReport {
  /** The objects of the files. */
  readonly objects: readonly ReportItem[];
  /** Secrets that sync changes. */
  readonly copies: readonly ReportItem[];
  /** Roles and RoleBindings that change. */
  readonly access: readonly ReportItem[];
  /** What connected clusters gain and lose. */
  readonly clusters: readonly ReportItem[];
  /** Secrets that sync cannot make copies, and that stay as they are. */
  readonly stuck: readonly ReportItem[];
  readonly notes: readonly ReportItem[];
  /** Rights without which the plan leaves something out. */
  readonly missing: readonly MissingRight[];
}

/** The plan for programs. */
export function planItems(report: PlanReport): readonly ReportItem[] {
  const { objects, copies, access, clusters, stuck, notes, missing } = report;
  const found = [...objects, ...copies, ...access, ...clusters, ...stuck, ...notes];
  return withMissing({ found, missing });
}

/** Whether sync changes a copy, a Role, a RoleBinding or what a connected cluster is offered. */
export function hasChanges({ copies, access, clusters }: PlanReport): boolean {
  return copies.length > 0 || access.length > 0 || clusters.length > 0;
}

/** The item of an object of a file. */
export function objectItem({ kind, ref, file, isNew, isChecked }: AppliedManifest): ReportItem {
  const object = reportObject(kind, ref);
  if (!isChecked)
    return plainItem(
      object,
      ["unknown", "NotChecked"],
      `It is created from ${file}. ` +
        "The API server cannot check it, because its namespace does not exist yet.",
    );
  return isNew
    ? plainItem(object, ["info", "Created"], `It is created from ${file}.`)
    : plainItem(object, ["info", "Configured"], `It is configured from ${file}.`);
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
    const own = targetItem(because);
    const assumed = isAssumed(target) ? [assumedCause(own.object)] : [];
    const item = { ...own, causes: [...own.causes, ...assumed] };
    // The controller tries a rejected write again and again; a changed source may succeed.
    const isRejected = because.kind === "refused" && !retries;
    if (action !== "nothing" && !isRejected) copies.set(keyOf(target), { ...item, state: action });
    else if (own.state === "problem")
      stuck.set(`${keyOf(target)} ${keyOf(because.sourceRef)}`, item);
  }
  return { copies: [...copies.values()], stuck: [...stuck.values()] };
}

/** The item of a change of a Role or RoleBinding; `isNew` for a SharedSecret without a uid. */
export function accessItem(change: PlannedAccess, isNew: boolean): ReportItem {
  const { sharedSecret, kind, name, action, verbs, added, removed, assumed } = change;
  const { namespace = "" } = sharedSecret;
  // The name depends on the uid.
  const object = { kind, namespace, name: isNew ? undefined : name };
  return {
    object,
    source: reportObject(resources.sharedSecrets.kind, sharedSecret),
    state: action,
    reason: "AccessChanged",
    message: `The verbs are ${verbs.join(", ")}.`,
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
  const object = reportObject(subject.kind, subject);
  return { object, reason, message: `${nameOf(object)} ${verb} access.` };
}

function assumedCause(object: ReportObject): ReportCause {
  const message = `You may not read the ${object.kind}, so its state is assumed.`;
  return { object, reason: "Assumed", message };
}

const actions = ["create", "replace", "delete", "empty", "release"] as const;
const marks = { create: "+", replace: "~", delete: "-", empty: "-", release: "!" } as const;
const colors = {
  create: "good",
  replace: "faint",
  delete: "bad",
  empty: "bad",
  release: "bad",
} as const;

/** The plan as lines for people: what changes, why, and what is stuck or not visible. */
export function planText(report: PlanReport, paint: Paint): string {
  const { objects, copies, access, clusters, stuck, notes, missing } = report;
  const changeLines = (item: ReportItem): readonly string[] => itemLines(item, paint);
  const sections = [
    section("Objects", objects.map(noteLine)),
    section("Copies", copies.flatMap(changeLines)),
    section("Access", access.flatMap(changeLines)),
    section(
      "Connected clusters",
      clusters.map((item) => clusterLine(item, paint)),
    ),
    section("Stuck", stuck.flatMap(changeLines)),
    section("Notes", notes.map(noteLine)),
    section(
      "Not visible to you; this plan leaves out what needs these rights",
      missing.map((right) => printable(rightText(right))),
    ),
  ];
  return [...sections.flat(), paint(summary(report), "faint"), ""].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}

function noteLine({ object, message, causes }: ReportItem): string {
  return printable(`${nameOf(object)}: ${sentences({ message, causes })}`);
}

function itemLines({ object, source, state, message, causes }: ReportItem, paint: Paint) {
  const action = actions.find((one) => one === state);
  const from = source === undefined ? "" : ` of ${nameOf(source)}`;
  const change = action === undefined ? "" : `${marks[action]} ${action} `;
  return [
    paint(
      printable(`${change}${nameOf(object)}${from}`),
      action === undefined ? "bad" : colors[action],
    ),
    `    ${printable(sentences({ message, causes }))}`,
  ];
}

function clusterLine({ state, message }: ReportItem, paint: Paint): string {
  const action = actions.find((one) => one === state);
  const line = printable(asSentence(message));
  return action === undefined ? line : paint(`${marks[action]} ${line}`, colors[action]);
}

function sentences({ message, causes }: Pick<ReportItem, "message" | "causes">): string {
  return [asSentence(message), ...causes.map((cause) => cause.message)].join(" ");
}

function summary(report: PlanReport): string {
  const { copies, access, clusters, stuck, missing } = report;
  const ends = stuck.length === 0 ? "" : `, ${stuck.length} stuck`;
  if (!hasChanges(report)) {
    const nothing = missing.length === 0 ? "Nothing" : "Nothing that you may see";
    return `${nothing} changes${ends}.`;
  }
  const counts = actions.flatMap((action) => {
    const count = copies.filter(({ state }) => state === action).length;
    return count === 0 ? [] : [`${count} to ${action}`];
  });
  const copyCounts = counts.length === 0 ? "no change" : counts.join(", ");
  const offers = clusters.length === 0 ? "" : `Offers to clusters: ${clusters.length} to change. `;
  return (
    `Copies: ${copyCounts}. ${offers}` +
    `Roles and RoleBindings: ${access.length} to change${ends}.`
  );
}
