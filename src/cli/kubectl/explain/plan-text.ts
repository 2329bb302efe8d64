import type { ReportItem } from "../../../api/report.ts";
import { nameOf } from "../../../domain/report-object.ts";
import { printable } from "../failure.ts";
import { rightText } from "../missing-right.ts";
import type { Paint } from "../output.ts";
import { hasChanges, type PlanReport } from "./plan-report.ts";
import { asSentence } from "./report.ts";

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
  const { objects, copies, access, stuck, notes, missing } = report;
  const changeLines = (item: ReportItem): readonly string[] => itemLines(item, paint);
  const sections = [
    section("Objects", objects.map(noteLine)),
    section("Copies", copies.flatMap(changeLines)),
    section("Access", access.flatMap(changeLines)),
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
  const title = `${action === undefined ? "" : `${marks[action]} ${action} `}${nameOf(object)}${from}`;
  return [
    paint(printable(title), action === undefined ? "bad" : colors[action]),
    `    ${printable(sentences({ message, causes }))}`,
  ];
}

function sentences({ message, causes }: Pick<ReportItem, "message" | "causes">): string {
  return [asSentence(message), ...causes.map((cause) => cause.message)].join(" ");
}

function summary(report: PlanReport): string {
  const { copies, access, stuck, missing } = report;
  const ends = stuck.length === 0 ? "" : `, ${stuck.length} stuck`;
  if (!hasChanges(report))
    return `${missing.length === 0 ? "Nothing changes" : "Nothing that you may see changes"}${ends}.`;
  const counts = actions.flatMap((action) => {
    const count = copies.filter(({ state }) => state === action).length;
    return count === 0 ? [] : [`${count} to ${action}`];
  });
  const copyCounts = counts.length === 0 ? "no change" : counts.join(", ");
  return `Copies: ${copyCounts}. Roles and RoleBindings: ${access.length} to change${ends}.`;
}
