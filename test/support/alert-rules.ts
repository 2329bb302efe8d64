import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";

/** An alerting rule of Prometheus. */
export interface AlertRule {
  /** The group that it is in. */
  readonly group: string;
  readonly alert: string;
  readonly expr: string;
  readonly severity: string;
  readonly summary: string;
  readonly runbookUrl: string;
}

/** The file with the alerts. */
export const rulesFile = join(import.meta.dirname, "../../config/prometheus/rules.yaml");

/** The alerts of the file, in its order. */
export function alertRules(): readonly AlertRule[] {
  const groups = listAt(load(readFileSync(rulesFile, "utf8")), "groups");
  return groups.flatMap((group) =>
    listAt(group, "rules").map((rule) => {
      const [labels, annotations] = [recordAt(rule, "labels"), recordAt(rule, "annotations")];
      return {
        group: stringAt(group, "name") ?? "",
        alert: stringAt(rule, "alert") ?? "",
        expr: stringAt(rule, "expr") ?? "",
        severity: stringAt(labels, "severity") ?? "",
        summary: stringAt(annotations, "summary") ?? "",
        runbookUrl: stringAt(annotations, "runbook_url") ?? "",
      };
    }),
  );
}
