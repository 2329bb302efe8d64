import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { alertRules } from "../support/alert-rules.ts";
import { addedLabels, labelsIn, problemsOf, textsOf } from "../support/promql.ts";

const rules = alertRules();
const runbooks = readFileSync(join(import.meta.dirname, "../../docs/runbooks.md"), "utf8");

test.each(rules)("$alert asks for metrics and labels that exist", ({ expr }) => {
  expect(problemsOf(expr)).toEqual([]);
});

test.each([
  ["latchkey_objects{", 'syntax at ""'],
  ["latchkey_nothing == 0", "latchkey_nothing"],
  ['latchkey_objects{colour="red"}', "colour"],
  ["max by (colour) (latchkey_objects)", "colour"],
  ['latchkey_objects{reason=~"Ready|Redy"}', "Redy"],
  ['latchkey_objects{condition="Redy"}', "Redy"],
  ["1 > 0", "no metric"],
])("the check detects the problem of %s", (expr, problem) => {
  expect(problemsOf(expr)).toContain(problem);
});

test("each alert has a runbook, and each runbook of an alert has its alert", () => {
  const [, section = ""] = runbooks.split("\n## Alerts\n");
  const headings = [...section.matchAll(/^### (\S+)$/gm)].map(([, name]) => name);
  expect(headings).toEqual(rules.map(({ alert }) => alert));
  for (const { alert, runbookUrl } of rules)
    expect(runbookUrl).toBe(`docs/runbooks.md#${alert.toLowerCase()}`);
  const parts = section.split(/^### /m).slice(1);
  for (const part of parts)
    for (const word of ["Symptom", "Check", "Mend"]) expect(part).toContain(`\n- **${word}:**`);
});

test("each alert has a severity and a summary, whose labels it has", () => {
  for (const { expr, severity, summary } of rules) {
    expect(["critical", "warning", "info"]).toContain(severity);
    expect(summary).not.toBe("");
    const kept = textsOf(expr, "GroupingLabels").at(0);
    for (const [, label = ""] of summary.matchAll(/\$labels\.(\w+)/g))
      expect(kept === undefined ? [...labelsIn(expr), ...addedLabels] : kept).toContain(label);
  }
});
