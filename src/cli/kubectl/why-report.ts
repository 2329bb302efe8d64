import { keyOf, type ObjectRef } from "../../api/object.ts";
import { type Cause, nameOf, type NamedObject } from "../../domain/cause.ts";
import { printable } from "./failure.ts";
import { type MissingRight, rightText } from "./missing-right.ts";
import type { Paint } from "./output.ts";

/** `info` is neither good nor bad; `unknown` is what the user may not see. */
export type FindingState = "ok" | "problem" | "unknown" | "info";

/** The answer to one question. */
export interface Finding {
  /** What is answered for, such as the SharedSecret that a copy comes from. */
  readonly about: NamedObject;
  readonly state: FindingState;
  /** A word for programs. */
  readonly reason: string;
  readonly sentence: string;
  /** The fields that decide, the first one to change first; empty if nothing is wrong. */
  readonly causes: readonly Cause[];
  /** More lines, such as the entries of a scope. */
  readonly details?: readonly string[];
}

/** The answer of `why`. */
export interface WhyReport {
  readonly object: NamedObject;
  readonly findings: readonly Finding[];
  readonly missing: readonly MissingRight[];
}

/** Whether nothing is wrong, as far as it is known. */
export function isWell({ findings }: Pick<WhyReport, "findings">): boolean {
  return findings.every(({ state }) => state !== "problem");
}

/** A kind and a reference as one object, without other fields. */
export function named(kind: string, { namespace, name }: ObjectRef): NamedObject {
  return { kind, ...(namespace === undefined ? {} : { namespace }), name };
}

/** What is said about an object whose status is not of its current generation. */
export const notObserved = {
  reason: "NotObserved",
  sentence: "the controller has not seen this generation; run kubectl latchkey check.",
} as const;

/** The report for json and yaml. */
export function whyContent({ object, findings, missing }: WhyReport): object {
  return {
    object,
    well: isWell({ findings }),
    findings: findings.map(({ about, state, reason, sentence, causes, details }) => ({
      about,
      state,
      reason,
      message: sentence,
      causes,
      ...(details === undefined ? {} : { details }),
    })),
    missingRights: missing.map(({ verb, resource, ...ref }) => ({
      verb,
      group: resource.group,
      resource: resource.plural,
      ...ref,
    })),
  };
}

const mostInfos = 10;
const marks: Readonly<Record<FindingState, string>> = {
  ok: "ok",
  problem: "PROBLEM",
  unknown: "unknown",
  info: "info",
};

/** The report as text: problems first, each with the fields that decide. */
export function whyText({ object, findings, missing }: WhyReport, paint: Paint): string {
  const order: readonly FindingState[] = ["problem", "unknown", "ok", "info"];
  const sorted = order.flatMap((state) => findings.filter((finding) => finding.state === state));
  const infos = findings.filter(({ state }) => state === "info");
  const left = Math.max(0, infos.length - mostInfos);
  const shown = sorted.slice(0, sorted.length - left);
  return [
    printable(nameOf(object)),
    ...shown.flatMap((finding) => findingLines(finding, object, paint)),
    ...(left === 0
      ? []
      : [paint(`  and ${left} more without a problem; -o json has all`, "faint")]),
    ...missingLines(missing),
    "",
  ].join("\n");
}

function findingLines(finding: Finding, object: NamedObject, paint: Paint): readonly string[] {
  const { about, state, sentence, causes, details = [] } = finding;
  const isOther = keyOf(about) !== keyOf(object) || about.kind !== object.kind;
  const place = isOther ? `${nameOf(about)}: ` : "";
  const title = `  ${marks[state]}  ${printable(`${place}${capitalized(sentence)}`)}`;
  const color = state === "ok" ? "good" : state === "problem" ? "bad" : "faint";
  return [
    paint(title, color),
    ...details.map((line) => `    ${printable(line)}`),
    ...causes.flatMap(causeLines),
  ];
}

function causeLines({ object, field, found, fix }: Cause): readonly string[] {
  const value = found === undefined ? "not set" : JSON.stringify(shortened(found));
  return [
    `    ${printable(`${nameOf(object)}, ${field}: ${value}`)}`,
    `      ${printable(`${fix}.`)}`,
  ];
}

const longestFound = 160;

function shortened(text: string): string {
  return text.length <= longestFound ? text : `${text.slice(0, longestFound)}...`;
}

function capitalized(sentence: string): string {
  return sentence.slice(0, 1).toUpperCase() + sentence.slice(1);
}

function missingLines(missing: readonly MissingRight[]): readonly string[] {
  return missing.length === 0
    ? []
    : [
        "You do not have these rights, so the answer may be incomplete:",
        ...missing.map((right) => `  ${printable(rightText(right))}`),
      ];
}
