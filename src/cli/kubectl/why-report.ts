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

/** A message of a condition, which may end without a full stop, as a sentence. */
export function asSentence(message: string): string {
  return message.endsWith(".") ? message : `${message}.`;
}

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

/** Maximum number of findings of a state in the text. */
const most: Readonly<Record<FindingState, number>> = { problem: 10, unknown: 10, ok: 100, info: 5 };

const marks: Readonly<Record<FindingState, string>> = {
  problem: "PROBLEM",
  unknown: "unknown",
  ok: "ok",
  info: "info",
};

const order: readonly FindingState[] = ["problem", "unknown", "ok", "info"];

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
  const { about, state, sentence, causes, details = [] } = finding;
  const isOther = keyOf(about) !== keyOf(object) || about.kind !== object.kind;
  const place = isOther ? `${nameOf(about)}: ` : "";
  const title = `  ${marks[state]}  ${printable(`${place}${capitalized(sentence)}`)}`;
  const color = state === "ok" ? "good" : state === "problem" ? "bad" : "faint";
  return [
    paint(title, color),
    ...details.map((line) => `    ${printable(line)}`),
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

/** Fields and annotations at the begin of a sentence keep their case. */
function capitalized(sentence: string): string {
  const [word = ""] = sentence.split(" ", 1);
  return /^[a-z]+:?$/.test(word)
    ? sentence.slice(0, 1).toUpperCase() + sentence.slice(1)
    : sentence;
}

function missingLines(missing: readonly MissingRight[]): readonly string[] {
  return missing.length === 0
    ? []
    : [
        "You do not have these rights, so the answer may be incomplete:",
        ...missing.map((right) => `  ${printable(rightText(right))}`),
      ];
}
