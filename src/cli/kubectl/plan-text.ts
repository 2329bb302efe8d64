import { printable } from "./failure.ts";
import type { Paint } from "./output.ts";
import type { AccessEntry, PlannedCopy, PlannedObject, PlanReport } from "./plan-report.ts";

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
  const sections = [
    section("Objects", objects.map(objectLine)),
    section(
      "Copies",
      copies.flatMap((copy) => copyLines(copy, paint)),
    ),
    section(
      "Access",
      access.map((entry) => accessLine(entry, paint)),
    ),
    section(
      "Stuck",
      stuck.flatMap(({ secret, sharedSecret, message, assumed }) => [
        paint(printable(`${secret} from ${sharedSecret}${assumedNote(assumed)}`), "bad"),
        `    ${printable(message)}`,
      ]),
    ),
    section("Notes", notes.map(printable)),
    section(
      "Not visible to you; this plan leaves out what needs these rights",
      missing.map(printable),
    ),
  ];
  return [...sections.flat(), paint(summary(report), "faint"), ""].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)];
}

function objectLine({ kind, name, effect, checked }: PlannedObject): string {
  const note = checked ? "" : " (not checked: its namespace does not exist yet)";
  return printable(`${kind} ${name} ${effect}${note}`);
}

function copyLines({ action, secret, message, assumed }: PlannedCopy, paint: Paint): string[] {
  return [
    paint(printable(`${marks[action]} ${action} ${secret}${assumedNote(assumed)}`), colors[action]),
    `    ${printable(message)}`,
  ];
}

function assumedNote(assumed: boolean): string {
  return assumed ? " (assumed: you may not read this Secret)" : "";
}

function accessLine(entry: AccessEntry, paint: Paint): string {
  const { action, kind, sharedSecret, name, verbs, added, removed, assumed } = entry;
  const subjects = [
    ...added.map((subject) => `+ ${subject}`),
    ...removed.map((subject) => `- ${subject}`),
  ].join(", ");
  const title = `${marks[action]} ${action} ${kind} of ${sharedSecret}`;
  const details = [name, verbs.join(","), subjects, assumed ? "assumed" : ""].filter(Boolean);
  return paint(printable([title, ...details].join("; ")), colors[action]);
}

function summary({ changes, copies, access, stuck, missing }: PlanReport): string {
  const ends = stuck.length === 0 ? "" : `, ${stuck.length} stuck`;
  if (!changes)
    return `${missing.length === 0 ? "Nothing changes" : "Nothing that you may see changes"}${ends}.`;
  const counts = (["create", "replace", "delete", "empty", "release"] as const).flatMap(
    (action) => {
      const count = copies.filter((copy) => copy.action === action).length;
      return count === 0 ? [] : [`${count} to ${action}`];
    },
  );
  const copyCounts = counts.length === 0 ? "no change" : counts.join(", ");
  return `Copies: ${copyCounts}. Roles and RoleBindings: ${access.length} to change${ends}.`;
}
