import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { latchkeyVersion } from "../../src/cli/latchkey-version.ts";
import { archiveOf } from "../archive.ts";
import { filesOf } from "./chart.ts";
import { chartsOf } from "./charts.ts";
import { findKustomize } from "./kustomize.ts";
import { valuesTable } from "./value.ts";

const output = join(import.meta.dirname, "..", "..", "dist", "charts");
const charts = chartsOf(await findKustomize((line) => process.stderr.write(`${line}\n`)));

if (process.argv.includes("--values-table")) {
  for (const { name, values } of charts)
    process.stdout.write(`## ${name}\n\n${valuesTable(values)}\n\n`);
} else {
  rmSync(output, { recursive: true, force: true });
  for (const chart of charts) {
    const files = filesOf(chart, latchkeyVersion);
    for (const { path, text } of files) {
      mkdirSync(dirname(join(output, path)), { recursive: true });
      writeFileSync(join(output, path), text);
    }
    const archive = archiveOf(files);
    const name = `${chart.name}-${latchkeyVersion}.tgz`;
    writeFileSync(join(output, name), archive);
    const digest = createHash("sha256").update(archive).digest("hex");
    process.stdout.write(`sha256:${digest}  dist/charts/${name}\n`);
  }
}
