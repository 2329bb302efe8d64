import type { Explanation } from "../../src/domain/sync/explain.ts";
import { causesOf, factsOf } from "../../src/domain/sync/outcome-texts.ts";

/** An outcome in one line: the facts, then what to change. */
export function outcomeSentence(explanation: Explanation): string {
  const fixes = causesOf(explanation).map(({ fix }) => ` ${fix}.`);
  return factsOf(explanation) + fixes.join("");
}
