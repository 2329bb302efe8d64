import type { Metrics } from "../../src/runtime/metrics.ts";

/** The lines of `/metrics` that match. */
export async function metricLines(metrics: Metrics, shown: RegExp): Promise<readonly string[]> {
  const { text } = await metrics.render();
  return text.split("\n").filter((line) => shown.test(line));
}
