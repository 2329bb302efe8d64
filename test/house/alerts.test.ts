import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parser } from "@prometheus-io/lezer-promql";
import { expect, test } from "vitest";
import { conditionTypes, reasons } from "../../src/api/conditions.ts";
import { metricTable } from "../../src/runtime/metric-table.ts";
import { alertRules } from "../support/alert-rules.ts";

const rules = alertRules();
const runbooks = readFileSync(join(import.meta.dirname, "../../docs/runbooks.md"), "utf8");

/** The metrics of the table and their labels. */
const labelsOf: ReadonlyMap<string, readonly string[]> = new Map(
  Object.values(metricTable).map(({ name, labelNames }) => [name, labelNames]),
);

/** The labels that Prometheus adds to each series, and that of the buckets of a histogram. */
const added = ["instance", "le"];

/** The texts of an expression that are of this kind, and of each matcher its label and value. */
function textsOf(expr: string, kind: string): readonly string[] {
  const found: string[] = [];
  parser.parse(expr).iterate({
    enter: ({ type, from, to }) => {
      if (type.name === kind || (kind === "error" && type.isError))
        found.push(expr.slice(from, to));
    },
  });
  return found;
}

/** What is wrong with an expression: syntax, metrics, labels, and values that no series has. */
function problemsOf(expr: string): readonly string[] {
  const names = textsOf(expr, "Identifier");
  const labels = names.flatMap((name) => labelsOf.get(name.replace(/_bucket$/, "")) ?? []);
  const values = (label: string): readonly string[] =>
    [...expr.matchAll(new RegExp(`\\b${label}(?:=|!=|=~|!~)"([^"]*)"`, "g"))].flatMap(
      ([, text = ""]) => text.split("|"),
    );
  return [
    ...textsOf(expr, "error").map((text) => `syntax at "${text}"`),
    ...(names.length === 0 ? ["no metric"] : []),
    ...names.filter((name) => !labelsOf.has(name.replace(/_bucket$/, ""))),
    ...textsOf(expr, "LabelName").filter((label) => ![...labels, ...added].includes(label)),
    ...values("condition").filter((type) => !Object.hasOwn(conditionTypes, type)),
    ...(names.includes("latchkey_objects") ? values("reason") : []).filter(
      (reason) => !Object.hasOwn(reasons, reason),
    ),
  ];
}

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
    const known = textsOf(expr, "Identifier").flatMap(
      (name) => labelsOf.get(name.replace(/_bucket$/, "")) ?? [],
    );
    for (const [, label = ""] of summary.matchAll(/\$labels\.(\w+)/g))
      expect(kept === undefined ? [...known, ...added] : kept).toContain(label);
  }
});
