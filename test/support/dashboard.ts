import { readFileSync } from "node:fs";
import { join } from "node:path";
import { listAt, numberAt, recordAt, stringAt } from "../../src/api/parse.ts";

/** A panel of the dashboard for Grafana, or a row. */
export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  /** Its place in columns of 24 and in lines. */
  readonly place: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly datasource: unknown;
  readonly queries: readonly Query[];
}

/** A query of a panel. */
export interface Query {
  /** PromQL, with an interval in place of that of Grafana. */
  readonly expr: string;
  /** The template of the names of its series; empty: without one. */
  readonly legend: string;
}

/** The file with the dashboard. */
export const dashboardFile = join(import.meta.dirname, "../../config/grafana/dashboard.json");

/** The panels of the dashboard, in its order. */
export function dashboardPanels(): readonly Panel[] {
  const dashboard: unknown = JSON.parse(readFileSync(dashboardFile, "utf8"));
  return listAt(dashboard, "panels").map((panel) => {
    const at = (field: string): number => numberAt(recordAt(panel, "gridPos"), field) ?? NaN;
    return {
      id: numberAt(panel, "id") ?? NaN,
      type: stringAt(panel, "type") ?? "",
      title: stringAt(panel, "title") ?? "",
      place: { x: at("x"), y: at("y"), w: at("w"), h: at("h") },
      datasource: recordAt(panel, "datasource"),
      queries: listAt(panel, "targets").map((target) => ({
        expr: (stringAt(target, "expr") ?? "").replaceAll("$__rate_interval", "5m"),
        legend: stringAt(target, "legendFormat") ?? "",
      })),
    };
  });
}
