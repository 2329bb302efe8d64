import { parser } from "@prometheus-io/lezer-promql";
import { conditionTypes, reasons } from "../../src/api/conditions.ts";
import { metricTable } from "../../src/runtime/metric-table.ts";

/** The metrics of the table and their labels. */
const labelsOf: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(metricTable).map(([name, { labels }]) => [name, labels]),
);

/** The labels that Prometheus adds to each series, and that of the buckets of a histogram. */
export const addedLabels = ["instance", "le"];

/** The texts of an expression that are of this kind, and of each matcher its label and value. */
export function textsOf(expr: string, kind: string): readonly string[] {
  const found: string[] = [];
  parser.parse(expr).iterate({
    enter: ({ type, from, to }) => {
      if (type.name === kind || (kind === "error" && type.isError))
        found.push(expr.slice(from, to));
    },
  });
  return found;
}

/** The labels of the metrics of an expression. */
export function labelsIn(expr: string): readonly string[] {
  return textsOf(expr, "Identifier").flatMap(
    (name) => labelsOf.get(name.replace(/_bucket$/, "")) ?? [],
  );
}

/** What is wrong with an expression: syntax, metrics, labels, and values that no series has. */
export function problemsOf(expr: string): readonly string[] {
  const names = textsOf(expr, "Identifier");
  const values = (label: string): readonly string[] =>
    [...expr.matchAll(new RegExp(`\\b${label}(?:=|!=|=~|!~)"([^"]*)"`, "g"))].flatMap(
      ([, text = ""]) => text.split("|"),
    );
  return [
    ...textsOf(expr, "error").map((text) => `syntax at "${text}"`),
    ...(names.length === 0 ? ["no metric"] : []),
    ...names.filter((name) => !labelsOf.has(name.replace(/_bucket$/, ""))),
    ...textsOf(expr, "LabelName").filter(
      (label) => ![...labelsIn(expr), ...addedLabels].includes(label),
    ),
    ...values("condition").filter((type) => !Object.hasOwn(conditionTypes, type)),
    ...(names.includes("latchkey_objects") ? values("reason") : []).filter(
      (reason) => !Object.hasOwn(reasons, reason),
    ),
  ];
}
