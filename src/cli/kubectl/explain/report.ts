import type { ReportItem } from "../../../api/report.ts";
import { type MissingRight, rightText } from "../missing-right.ts";
import { resultText } from "../output.ts";

/** Items as a report in the chosen format; `text` without one. */
export function reportText(
  output: "json" | "yaml" | undefined,
  items: readonly ReportItem[],
  text: () => string,
): string {
  return resultText(output, { kind: "Report", items }, text);
}

/** Whether nothing is wrong, as far as it is known. */
export function isWell(items: readonly Pick<ReportItem, "state">[]): boolean {
  return items.every(({ state }) => state !== "problem");
}

/** The item of a right that is missing, so that objects could not be read. */
export function missingItem(right: MissingRight): ReportItem {
  const { resource, namespace, name } = right;
  return {
    object: {
      kind: resource.kind,
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
    },
    state: "unknown",
    reason: "Forbidden",
    message: `You may not ${rightText(right)}.`,
    causes: [],
  };
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
