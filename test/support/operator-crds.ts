import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { buildModule, findGo, type GoModule } from "./go-module.ts";

const module: GoModule = {
  directory: join(import.meta.dirname, "operator-crds"),
  name: "CRDs of the Prometheus Operator",
  takes: "10 seconds",
  packages: ".",
};

/** The kinds of the Prometheus Operator that the charts create, as they are in paths. */
export const operatorKinds = ["servicemonitors", "podmonitors", "prometheusrules"] as const;

/** The YAML of the CRDs of these kinds; throws if Go is not installed. */
export async function operatorCrds(report: (line: string) => void): Promise<string> {
  const go = findGo(module, process.env);
  if (go === undefined) throw new Error("Go is not installed (https://go.dev/dl)");
  const program = join(await buildModule(module, go, { report }), "operator-crds");
  const printed = execFileSync(program, { encoding: "utf8", maxBuffer: 1e8 });
  const names = operatorKinds.map((plural) => `  name: ${plural}.monitoring.coreos.com\n`);
  const crds = printed.split(/^---\n/m).filter((text) => names.some((name) => text.includes(name)));
  return crds.join("---\n");
}
