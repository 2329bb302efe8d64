import { rmSync } from "node:fs";
import { join } from "node:path";
import { chartsOf } from "./charts.ts";
import { findKustomize } from "./kustomize.ts";
import { packageChart } from "./package.ts";
import { valuesPage } from "./value.ts";

const output = join(import.meta.dirname, "..", "..", "dist", "charts");
const charts = chartsOf(await findKustomize((line) => process.stderr.write(`${line}\n`)));

if (process.argv.includes("--values")) {
  process.stdout.write(valuesPage(charts));
} else {
  rmSync(output, { recursive: true, force: true });
  for (const chart of charts) {
    const { archive, digest } = packageChart(chart, output);
    process.stdout.write(`${digest}  dist/charts/${archive}\n`);
  }
}
