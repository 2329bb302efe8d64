import type {
  ReportCause,
  ReportItem,
  ReportObject,
  ReportReason,
  Verdict,
} from "../api/report.ts";
import type { Cli } from "./cli.ts";
import { type MissingRight, type Readable, rightText } from "./missing-right.ts";
import { type Paint, paintWith, type ResultFormat, resultText } from "./output.ts";

/** Prints the answer of a command: its items for programs, or a text for people. */
export function printReport(
  items: readonly ReportItem[],
  text: (paint: Paint) => string,
  { output, terminal }: { readonly output: ResultFormat; readonly terminal: Cli["terminal"] },
): void {
  terminal.print(reportText(items, output, () => text(paintWith(terminal.hasColors))));
}

/** Items as a report in the chosen format; `text` without one. */
export function reportText(
  items: readonly ReportItem[],
  output: ResultFormat,
  text: () => string,
): string {
  return resultText(output, { kind: "Report", items: items.map(publicItem) }, text);
}

/** The documented fields of an item in their order, of which a command may know more. */
function publicItem(item: ReportItem): ReportItem {
  const { object, displayName, source, state, reason, message, causes } = item;
  const { targets, target, cluster } = item;
  return {
    object: publicObject(object),
    displayName,
    source: source && publicObject(source),
    state,
    reason,
    message: asSentence(message),
    causes: causes.map(publicCause),
    targets,
    target,
    cluster,
  };
}

function publicCause({ object, field, value, reason, message }: ReportCause): ReportCause {
  return { object: publicObject(object), field, value, reason, message: asSentence(message) };
}

function publicObject({ kind, namespace, name }: ReportObject): ReportObject {
  return { kind, namespace, name };
}

/** Whether nothing is wrong, as far as it is known. */
export function isWell(items: readonly Pick<ReportItem, "state">[]): boolean {
  return items.every(({ state }) => state !== "problem");
}

/** An item whose message says everything. */
export function plainItem(
  object: ReportObject,
  [state, reason]: readonly [Verdict, ReportReason],
  message: string,
): ReportItem {
  return { object, state, reason, message, causes: [] };
}

/** Items, and one for each right that is missing, so that objects could not be read. */
export function withMissing({ found, missing }: Readable<readonly ReportItem[]>) {
  return [...found, ...missing.map(missingItem)];
}

function missingItem(right: MissingRight): ReportItem {
  const { resource, namespace, name } = right;
  const object = { kind: resource.kind, namespace, name };
  return plainItem(object, ["unknown", "Forbidden"], `You may not ${rightText(right)}.`);
}

/** The color of what is in a state. */
export function colorOf({ state }: Pick<ReportItem, "state">): "good" | "bad" | "faint" {
  return state === "ok" ? "good" : state === "problem" ? "bad" : "faint";
}

/**
 * A message as a sentence. Messages of conditions may end without a full stop; fields and
 * annotations at the begin of a message keep their case.
 */
export function asSentence(message: string): string {
  const [word = ""] = message.split(" ", 1);
  const begun = /^[a-z]+:?$/.test(word)
    ? message.slice(0, 1).toUpperCase() + message.slice(1)
    : message;
  return begun.endsWith(".") ? begun : `${begun}.`;
}
