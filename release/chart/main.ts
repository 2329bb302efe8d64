import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chartsOf } from "./charts.ts";
import { findKustomize } from "./kustomize.ts";
import { manifestFile, packageChart } from "./package.ts";
import { valuesPage } from "./value.ts";

const output = join(import.meta.dirname, "..", "..", "dist");
const kustomize = await findKustomize((line) => process.stderr.write(`${line}\n`));
const charts = chartsOf(kustomize);

if (process.argv.includes("--values")) {
  process.stdout.write(valuesPage(charts));
} else {
  rmSync(join(output, "charts"), { recursive: true, force: true });
  for (const chart of charts) {
    const { archive, digest } = packageChart(chart, join(output, "charts"));
    process.stdout.write(`${digest}  dist/charts/${archive}\n`);
  }
  writeFileSync(join(output, "latchkey.yaml"), manifestFile(kustomize("default")));
  writeFileSync(join(output, "latchkey-before-1.36.yaml"), manifestFile(kustomize("before-1.36")));
}
