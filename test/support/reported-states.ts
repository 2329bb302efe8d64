import { reasons } from "../../src/api/conditions.ts";
import { listAt, numberAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { syncStates } from "../../src/api/report.ts";

/** What metrics and `kubectl latchkey status -A -o json` both say about a cluster. */
export interface ReportedStates {
  /** Kind, namespace, name and reason of each object that is not ready, sorted. */
  readonly notReady: readonly string[];
  /** Targets by state. */
  readonly targets: Readonly<Record<string, number>>;
}

/** What the text of `/metrics` says; at most 100 objects may be not ready. */
export function statesInMetrics(text: string): ReportedStates {
  const series = [...text.matchAll(/^(\w+)\{(.*)\} (\d+)$/gm)].map(
    ([, name, labels = "", value]) => ({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="(.*?)"/g)].map(([, key, of]) => [key, of]),
      ),
      value: Number(value),
    }),
  );
  return {
    notReady: series
      .filter(({ name }) => name === "latchkey_object_not_ready")
      .map(({ labels: { kind, namespace, name, reason } }) =>
        [kind, namespace, name, reason].join(" "),
      )
      .toSorted(),
    targets: Object.fromEntries(
      series
        .filter(({ name }) => name === "latchkey_sync_targets")
        .map(({ labels, value }) => [labels["state"], value]),
    ),
  };
}

/** What a report says; a reason that is in no table has no label in metrics. */
export function statesInStatus(report: unknown): ReportedStates {
  const own = listAt(report, "items").filter(
    (item) => stringAt(recordAt(item, "object"), "kind") !== "Secret",
  );
  const labelOf = (reason = ""): string => (Object.hasOwn(reasons, reason) ? reason : "");
  return {
    notReady: own
      .filter((item) => stringAt(item, "state") === "problem")
      .map((item) => {
        const { kind, namespace = "", name } = recordAt(item, "object");
        return [kind, namespace, name, labelOf(stringAt(item, "reason"))].join(" ");
      })
      .toSorted(),
    targets: Object.fromEntries(
      syncStates.map((state) => [
        state,
        own.reduce<number>(
          (sum, item) => sum + (numberAt(recordAt(item, "targets"), state) ?? 0),
          0,
        ),
      ]),
    ),
  };
}
