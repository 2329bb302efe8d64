import type { ObjectRef } from "../../../api/object.ts";
import type { ReportCause, ReportItem, Verdict } from "../../../api/report.ts";
import { type Cause, nameOf, type NamedObject, reportCause } from "../../../domain/cause.ts";
import { printable } from "../failure.ts";
import { type MissingRight, rightText } from "../missing-right.ts";
import type { Paint } from "../output.ts";
import { asSentence, missingItem } from "./report.ts";

/** The answer to one question. */
export interface Finding {
  readonly object: NamedObject;
  /** The SharedSecret of a Secret. */
  readonly source?: NamedObject;
  readonly state: Verdict;
  readonly reason: string;
  readonly sentence: string;
  /** The fields that decide, the first one to change first; empty if nothing is wrong. */
  readonly causes: readonly Cause[];
  /** More about how it was decided, such as the entries of a scope. */
  readonly details?: readonly DecidingField[];
}

/** A field that decides, and how. */
export type DecidingField = ReportCause & { readonly field: string };

/** The answer of `why`. */
export interface WhyReport {
  readonly object: NamedObject;
  readonly findings: readonly Finding[];
  readonly missing: readonly MissingRight[];
}

/** A kind and a reference as one object, without other fields. */
export function named(kind: string, { namespace, name }: ObjectRef): NamedObject {
  return { kind, ...(namespace === undefined ? {} : { namespace }), name };
}

/** The answer for programs: the findings, then the rights that are missing. */
export function whyItems({ findings, missing }: WhyReport): readonly ReportItem[] {
  return [...findings.map(findingItem), ...missing.map(missingItem)];
}

/** A finding for programs. */
export function findingItem(finding: Finding): ReportItem {
  const { object, source, state, reason, sentence, causes, details = [] } = finding;
  return {
    object,
    ...(source === undefined ? {} : { source }),
    ...{ state, reason, message: asSentence(sentence) },
    causes: [...causes.map(reportCause), ...details],
  };
}

/** Maximum number of findings of a state in the text. */
const most: Readonly<Record<Verdict, number>> = { problem: 10, unknown: 10, ok: 100, info: 5 };

const marks: Readonly<Record<Verdict, string>> = {
  problem: "PROBLEM",
  unknown: "unknown",
  ok: "ok",
  info: "info",
};

const order: readonly Verdict[] = ["problem", "unknown", "ok", "info"];

/** The report as text: problems first, those that one change solves before others. */
export function whyText({ object, findings, missing }: WhyReport, paint: Paint): string {
  const lines = order.flatMap((state) => {
    const inState = findings
      .filter((finding) => finding.state === state)
      .toSorted((one, other) => one.causes.length - other.causes.length);
    const left = inState.length - most[state];
    return [
      ...inState.slice(0, most[state]).flatMap((one) => findingLines(one, object, paint)),
      ...(left > 0 ? [paint(`  ${marks[state]}  and ${left} more; -o json has all`, "faint")] : []),
    ];
  });
  return [printable(nameOf(object)), ...lines, ...missingLines(missing), ""].join("\n");
}

function findingLines(finding: Finding, object: NamedObject, paint: Paint): readonly string[] {
  const { state, sentence, causes, details = [] } = finding;
  const other = [finding.object, finding.source].find(
    (one) => one !== undefined && nameOf(one) !== nameOf(object),
  );
  const place = other === undefined ? "" : `${nameOf(other)}: `;
  const title = `  ${marks[state]}  ${printable(`${place}${asSentence(sentence)}`)}`;
  const color = state === "ok" ? "good" : state === "problem" ? "bad" : "faint";
  return [
    paint(title, color),
    ...details.map(
      (one) => `    ${printable(`${nameOf(one.object)}, ${one.field}: ${one.message}`)}`,
    ),
    ...(state === "problem" ? causes.flatMap(causeLines) : []),
  ];
}

function causeLines({ object, field, found, fix }: Cause): readonly string[] {
  return [
    `    ${printable(`${nameOf(object)}, ${field}${valueText(field, found)}`)}`,
    `      ${printable(`${fix}.`)}`,
  ];
}

const longestFound = 160;

/** A field without a known value may be secret, except a label or annotation. */
function valueText(field: string, found: string | undefined): string {
  if (found === undefined)
    return field.startsWith("metadata.") && field.endsWith("]") ? ": not set" : "";
  const isLong = found.length > longestFound;
  return `: ${JSON.stringify(isLong ? `${found.slice(0, longestFound)}...` : found)}`;
}

function missingLines(missing: readonly MissingRight[]): readonly string[] {
  return missing.length === 0
    ? []
    : [
        "You do not have these rights, so the answer may be incomplete:",
        ...missing.map((right) => `  ${printable(rightText(right))}`),
      ];
}
