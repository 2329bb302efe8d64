import { percentile } from "../support/percentile.ts";
import type { Row, Usage } from "./report.ts";

/** The row of a latency: its 99th percentile, with the median as a note. */
export function latencyRow(
  name: string,
  values: readonly number[],
  rest: { readonly belowMs?: number; readonly usage?: Usage; readonly note?: string } = {},
): Row {
  const p99 = percentile(values, 0.99);
  const { belowMs, usage, note } = rest;
  const p50 = `p50 ${percentile(values, 0.5).toFixed(1)} ms, n ${values.length}`;
  return {
    name,
    measured: p99,
    unit: "ms p99",
    ...(belowMs === undefined ? {} : { wanted: `< ${belowMs} ms`, met: p99 < belowMs }),
    ...(usage === undefined ? {} : { usage }),
    note: note === undefined ? p50 : `${p50}, ${note}`,
  };
}
