import type { Explanation } from "../../src/domain/sync/outcome.ts";
import { targetItem } from "../../src/domain/sync/sync-report.ts";

/** An outcome in one line: the facts, then what to change. */
export function outcomeSentence(explanation: Explanation): string {
  const { message, causes } = targetItem(explanation);
  return [message, ...causes.map((cause) => cause.message)].join(" ");
}
