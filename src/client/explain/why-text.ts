import type { ReportCause, ReportItem, ReportObject } from "../../api/report.ts";
import { nameOf } from "../../domain/report-object.ts";
import { printable } from "../failure.ts";
import { type MissingRight, type Readable, rightText } from "../missing-right.ts";
import type { Paint } from "../output.ts";
import { asSentence, colorOf } from "../report.ts";

/** The answer of `why` about an object. */
export interface WhyReport extends Readable<readonly ReportItem[]> {
  readonly object: ReportObject;
}

/** The states in the order of the text: their marks, and the maximum number of items. */
const states = [
  { state: "problem", mark: "PROBLEM", most: 10 },
  { state: "unknown", mark: "unknown", most: 10 },
  { state: "ok", mark: "ok", most: 100 },
  { state: "info", mark: "info", most: 5 },
] as const;

/** The report as text: problems first, those that one change solves before others. */
export function whyText({ object, found, missing }: WhyReport, paint: Paint): string {
  const lines = states.flatMap(({ state, mark, most }) => {
    const inState = found
      .filter((item) => item.state === state)
      .toSorted((one, other) => changesOf(one).length - changesOf(other).length);
    const left = inState.length - most;
    return [
      ...inState
        .slice(0, most)
        .flatMap((item) => [
          paint(
            `  ${mark}  ${printable(`${subjectOf(item, object)}${asSentence(item.message)}`)}`,
            colorOf(item),
          ),
          ...item.causes.filter(isEntry).map(entryLine),
          ...(state === "problem" ? changesOf(item).flatMap(changeLines) : []),
        ]),
      ...(left > 0 ? [paint(`  ${mark}  and ${left} more; -o json has all`, "faint")] : []),
    ];
  });
  return [printable(nameOf(object)), ...lines, ...missingLines(missing), ""].join("\n");
}

/** What an item is about, if that is not the object that the question is about. */
function subjectOf({ object, source }: ReportItem, asked: ReportObject): string {
  const other = [object, source].find((one) => one !== undefined && nameOf(one) !== nameOf(asked));
  return other === undefined ? "" : `${nameOf(other)}: `;
}

/** Whether a cause says what an entry of a scope decides about the request. */
function isEntry({ reason }: ReportCause): boolean {
  return reason === "EntryAllows" || reason === "EntryDenies";
}

function entryLine({ object, field, message }: ReportCause): string {
  return `    ${printable(`${nameOf(object)}, ${field}: ${message}`)}`;
}

/** The causes that name what to change. */
function changesOf({ causes }: ReportItem): readonly ReportCause[] {
  return causes.filter((cause) => !isEntry(cause));
}

function changeLines({ object, field = "", value, message }: ReportCause): readonly string[] {
  return [
    `    ${printable(`${nameOf(object)}, ${field}${valueText(field, value)}`)}`,
    `      ${printable(message)}`,
  ];
}

const longestValue = 160;

/** A field without a known value may be secret, except a label or annotation. */
function valueText(field: string, value: string | undefined): string {
  if (value === undefined)
    return field.startsWith("metadata.") && field.endsWith("]") ? ": not set" : "";
  const isLong = value.length > longestValue;
  return `: ${JSON.stringify(isLong ? `${value.slice(0, longestValue)}...` : value)}`;
}

function missingLines(missing: readonly MissingRight[]): readonly string[] {
  return missing.length === 0
    ? []
    : [
        "You do not have these rights, so the answer may be incomplete:",
        ...missing.map((right) => `  ${printable(rightText(right))}`),
      ];
}
